// Selection of the network between hosts: the best one that all ranks can use.
#pragma once

#include <string>

#include "network/fabric.hpp"

namespace lci::network::routed {

/// Each rank offers the list of networks that it can use, and starts with its own best one, so that its address in that
/// network can be offered in the same round. Usually all ranks can use the same one.
class choice {
 public:
  /// Offers this rank's networks.
  choice(address_exchange& exchange, const net_context_attr_t& attr);

  /// The best network of this rank; null if there is none.
  const fabric* own() const { return own_; }
  /// The best network that all ranks can use, after publish(). Throws invalid_argument_error if there is none.
  const fabric& of_all();
  /// Returns whether all ranks have started with that network. Valid after of_all().
  bool is_unanimous() const { return unanimous_; }
  /// Used if of_all() is not called: throws bootstrap_error unless `rank` has the same best network.
  void check(int rank);
  [[noreturn]] void throw_none() const;

 private:
  address_exchange& exchange_;
  address_exchange::offer_id offered_;
  std::string mine_;  // one character for each network between hosts, best first; see sign
  std::string why_;   // why unusable networks can't be used
  const fabric* own_ = nullptr;
  bool unanimous_ = true;
};

/// Returns whether that network leads to other hosts.
bool leads_to_hosts(const fabric& f);

}  // namespace lci::network::routed
