// The networks with datagrams that a context uses for links, beside TCP.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lci/attributes.hpp"
#include "network/common/datagrams.hpp"

namespace lci::network::outside {

/// The number by which a hello names a provider; 0: TCP.
uint64_t number_of_provider(const std::string& provider);

/// Networks are opened when first used, and stay. Owned by the context, which calls it under its lock.
class networks {
 public:
  /// Of different networks; each takes an endpoint of every device.
  static constexpr size_t most = 4;

  /// The opener is empty if this build has no such networks.
  explicit networks(datagram_opener opener) : opener_(std::move(opener)) {}

  /// The index of the network, which is opened if it was not. Throws as the opener.
  size_t index_of(const net_context_attr_t& attr, const datagram_request& wanted);
  size_t size() const { return all_.size(); }
  const datagram_network& operator[](size_t i) const { return *all_[i].network; }

 private:
  struct known {
    std::string provider, source;
    std::unique_ptr<datagram_network> network;
  };
  const datagram_opener opener_;
  std::vector<known> all_;
};

}  // namespace lci::network::outside
