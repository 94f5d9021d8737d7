#include "network/open.hpp"

#include <string>

#include "lib/base/check.hpp"
#include "network/routed/context.hpp"

namespace lci::network {

namespace {

const fabric& shared_memory() {
  for (const fabric& f : fabrics())
    if (f.id == attr_backend_t::shm) return f;
  LCI_ASSERT(false && "shm is part of every build");
  return fabrics().front();
}

bool leads_to_hosts(const fabric& f) {
  return f.id != attr_backend_t::shm && f.id != attr_backend_t::sim;
}

std::string names_of_all() {
  std::string names;
  for (const fabric& f : fabrics()) names += std::string(names.empty() ? "" : ", ") + f.name;
  return names;
}

bool one_host(const context& near, const address_exchange& exchange, size_t ranks_per_host) {
  if (ranks_per_host > 0) return static_cast<size_t>(exchange.size()) <= ranks_per_host;
  for (int r = 0; r < exchange.size(); ++r)
    if (!near.reaches(r)) return false;
  return true;
}

/// The best of the networks that can be used by all ranks.
const fabric& choose_between_hosts(address_exchange& exchange) {
  std::string mine, why;
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    const std::string reason = f.unusable_reason();
    mine += reason.empty() ? '+' : '-';
    if (!reason.empty()) why += std::string(why.empty() ? "" : "; ") + f.name + ": " + reason;
  }
  const std::vector<std::string> all = exchange.allgather(mine);
  size_t i = 0;
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    bool everywhere = true;
    for (const std::string& one : all) everywhere = everywhere && one.size() == mine.size() && one[i] == '+';
    if (everywhere) return f;
    ++i;
  }
  throw_invalid("alloc_net_context", "backend", "auto",
                "a network between hosts that all ranks can use, since they don't share one host",
                why.empty() ? "some ranks have none: `lci_info` on their hosts tells why" : why);
}

}  // namespace

const fabric& choose_fabric(const net_context_attr_t& attr) {
  if (attr.backend == attr_backend_t::none) return shared_memory();
  std::string reason = "not part of this build";
  for (const fabric& f : fabrics()) {
    if (f.id != attr.backend) continue;
    reason = f.unusable_reason();
    if (reason.empty()) return f;
  }
  throw_invalid("alloc_net_context", "backend", to_string(attr.backend),
                "a usable one of those built in: " + names_of_all(), reason);
}

opened open_network(address_exchange& exchange, const net_context_attr_t& attr) {
  const fabric& wanted = choose_fabric(attr);
  if (wanted.id == attr_backend_t::sim) return {wanted.id, wanted.create(exchange, attr)};
  std::unique_ptr<context> near = shared_memory().create(exchange, attr);
  const bool together = one_host(*near, exchange, attr.ranks_per_host);
  if (leads_to_hosts(wanted)) {
    auto far = wanted.create(exchange, attr);
    return {wanted.id, std::make_unique<routed::context>(exchange, std::move(near), std::move(far),
                                                         routed::all_far)};
  }
  if (together) return {attr_backend_t::shm, std::move(near)};
  if (attr.backend == attr_backend_t::shm)
    throw_invalid("alloc_net_context", "backend", "shm", "a network between hosts",
                  "the ranks don't share one; LCI_ATTR_BACKEND=auto chooses");
  const fabric& between = choose_between_hosts(exchange);
  auto far = between.create(exchange, attr);
  return {between.id, std::make_unique<routed::context>(exchange, std::move(near), std::move(far),
                                                        attr.ranks_per_host)};
}

}  // namespace lci::network
