#include "network/routed/choice.hpp"

#include <vector>

#include "lib/base/check.hpp"

namespace lci::network::routed {

namespace {

/// The best network between hosts of which `usable` has a '+'; null: none.
const fabric* best_between_hosts(const std::string& usable) {
  size_t i = 0;
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    if (usable[i++] == '+') return &f;
  }
  return nullptr;
}

}  // namespace

bool leads_to_hosts(const fabric& f) {
  return f.id != attr_backend_t::shm && f.id != attr_backend_t::sim;
}

choice::choice(address_exchange& exchange) : exchange_(exchange) {
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    const std::string reason = f.unusable_reason();
    mine_ += reason.empty() ? '+' : '-';
    if (!reason.empty()) why_ += std::string(why_.empty() ? "" : "; ") + f.name + ": " + reason;
  }
  own_ = best_between_hosts(mine_);
  offered_ = exchange.offer(mine_);
}

const fabric& choice::of_all() {
  std::string everywhere = mine_;
  const std::vector<std::string> all = exchange_.read_all(offered_);
  for (const std::string& one : all)
    for (size_t i = 0; i < everywhere.size(); ++i)
      if (one.size() != mine_.size() || one[i] != '+') everywhere[i] = '-';
  const fabric* const agreed = best_between_hosts(everywhere);
  if (agreed == nullptr) throw_none();
  unanimous_ = true;
  for (const std::string& one : all) unanimous_ = unanimous_ && best_between_hosts(one) == agreed;
  return *agreed;
}

void choice::check(int rank) {
  const std::string its = exchange_.read(offered_, rank);
  const fabric* const best = its.size() == mine_.size() ? best_between_hosts(its) : nullptr;
  if (best == own_ && best != nullptr) return;
  throw bootstrap_error("rank " + std::to_string(rank) + " uses " +
                        (best == nullptr ? "no network between hosts that we have" : best->name) + ", but rank " +
                        std::to_string(exchange_.rank()) + " " + own_->name +
                        ": a large job's ranks don't look for one that all can use; set LCI_ATTR_BACKEND to one, or "
                        "raise LCI_ATTR_EAGER_ADDRESSES");
}

void choice::throw_none() const {
  throw_invalid("alloc_net_context", "backend", "auto",
                "a network between hosts that all ranks can use, since they don't share one host",
                why_.empty() ? "some ranks have none: `lci_info` on their hosts tells why" : why_);
}

}  // namespace lci::network::routed
