#include "network/tcp/outside/networks.hpp"

#include <utility>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"

namespace lci::network::outside {

uint64_t number_of_provider(const std::string& provider) { return provider.empty() ? 0 : fnv1a(provider); }

size_t networks::index_of(const net_context_attr_t& attr, const datagram_request& wanted) {
  for (size_t i = 0; i < all_.size(); ++i)
    if (all_[i].provider == wanted.provider && all_[i].source == wanted.source) return i;
  if (!opener_)
    throw_invalid(wanted.operation, wanted.argument, "ofi+" + wanted.provider + "://...", "tcp://HOST:PORT",
                  "this build has no libfabric; build with it (Debian: libfabric-dev) for others");
  if (all_.size() == most)
    throw resource_error(std::string(wanted.operation) + ": " + wanted.argument +
                         ": a runtime reaches peers over at most " + std::to_string(most) +
                         " networks of libfabric; use fewer providers and addresses of this host");
  all_.push_back({wanted.provider, wanted.source, opener_(attr, wanted)});
  return all_.size() - 1;
}

}  // namespace lci::network::outside
