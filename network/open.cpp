#include "network/open.hpp"

#include <string>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "lib/base/insist_on_memory.hpp"
#ifdef LCI_WITH_OFI
#include "network/ofi/fabric.hpp"
#endif
#include "network/routed/choice.hpp"
#include "network/routed/context.hpp"
#include "network/routed/with_outside.hpp"
#include "network/tcp/fabric.hpp"

namespace lci::network {

namespace {

const fabric& shared_memory() {
  for (const fabric& f : fabrics())
    if (f.id == attr_backend_t::shm) return f;
  LCI_ASSERT(false && "shm is part of every build");
  return fabrics().front();
}

std::string names_of_all() {
  std::string names;
  for (const fabric& f : fabrics()) names += std::string(names.empty() ? "" : ", ") + f.name;
  return names;
}

bool is_one_host(context& near, int size, size_t ranks_per_host) {
  if (ranks_per_host > 0) return static_cast<size_t>(size) <= ranks_per_host;
  for (int r = 0; r < size; ++r)
    if (!near.reaches(r)) return false;
  return true;
}

/// What is presumed before ranks exchange anything. If the launcher is wrong, that only costs time.
enum class hosts : uint8_t { one, several };
hosts presumed_hosts(const address_exchange& exchange, size_t ranks_per_host) {
  const auto size = static_cast<size_t>(exchange.size());
  if (ranks_per_host > 0) return size <= ranks_per_host ? hosts::one : hosts::several;
  const auto here = exchange.place_on_host();
  return here && here->size < exchange.size() ? hosts::several : hosts::one;
}

}  // namespace

const fabric& choose_fabric(const net_context_attr_t& attr) {
  if (attr.backend == attr_backend_t::none) return shared_memory();
  std::string reason = "not part of this build";
  for (const fabric& f : fabrics()) {
    if (f.id != attr.backend) continue;
    const usability found = f.look(attr);
    reason = found.why_not;
    if (reason.empty()) return f;
    if (found.refused) throw resource_error(std::string(f.name) + ": " + reason);
  }
  throw_invalid("alloc_net_context", "backend", to_string(attr.backend),
                "a usable one of those built in: " + names_of_all(), reason);
}

namespace {

opened open_for_ranks(address_exchange& exchange, const net_context_attr_t& attr) {
  const fabric& wanted = choose_fabric(attr);
  if (wanted.id == attr_backend_t::sim) return {wanted.id, wanted.create(exchange, attr)};
  if (routed::leads_to_hosts(wanted)) {
    // For shared heaps only: it need not know a peer before that peer's heap is looked for.
    net_context_attr_t alone = attr;
    alone.ranks_per_host = 1;
    auto near = shared_memory().create(exchange, alone);
    return {wanted.id, std::make_unique<routed::context>(exchange, attr, std::move(near), wanted)};
  }
  std::unique_ptr<context> near = shared_memory().create(exchange, attr);

  const auto meet_all = [&] {
    exchange.publish();
    // The other ranks go on from here, so want of memory is waited for.
    insist_on_memory([&] { near->settle(acquaintance::all_at_once); });
    return insist_on_memory([&] { return is_one_host(*near, exchange.size(), attr.ranks_per_host); });
  };
  const bool shm_only = attr.backend == attr_backend_t::shm;
  // Looking for networks between hosts takes time and memory, so skip it where there seems to be one host.
  const bool asked = shm_only || presumed_hosts(exchange, attr.ranks_per_host) == hosts::one;
  if (asked && meet_all()) return {attr_backend_t::shm, std::move(near)};
  if (shm_only)
    throw_invalid("alloc_net_context", "backend", "shm", "a network between hosts",
                  "the ranks don't share one; LCI_ATTR_BACKEND=auto chooses");
  routed::choice between(exchange, attr);
  if (between.own() != nullptr) {
    const attr_backend_t id = between.own()->id;
    return {id, std::make_unique<routed::context>(exchange, attr, std::move(near), asked, std::move(between))};
  }
  // The other ranks must learn that this rank has none.
  if (asked)
    exchange.publish();
  else if (meet_all())
    return {attr_backend_t::shm, std::move(near)};
  between.throw_none();
}

/// For peers outside of the job.
datagram_opener datagrams() {
#ifdef LCI_WITH_OFI
  return ofi_datagrams;
#else
  return {};
#endif
}

}  // namespace

opened open_network(address_exchange& exchange, const net_context_attr_t& attr, bool outside) {
  opened made = open_for_ranks(exchange, attr);
  // The simulated hosts have peers of their own outside of the job.
  if (outside && made.backend != attr_backend_t::sim) {
    auto far = insist_on_memory([&] { return tcp_outside(attr, exchange.rank(), datagrams()); });
    made.net =
        insist_on_memory([&] { return std::make_unique<routed::with_outside>(std::move(made.net), std::move(far)); });
  }
  return made;
}

}  // namespace lci::network
