#include "network/routed/choice.hpp"

#include <algorithm>
#include <vector>

#include "lib/base/check.hpp"

namespace lci::network::routed {

namespace {

/// A rank's rating of a network between hosts; larger is better.
namespace sign {
constexpr char unusable = '0', last = '1', good = '2';
}

/// The best network between hosts that is rated good, else the best of last choice; null if none is usable.
const fabric* best_between_hosts(const std::string& signs) {
  const fabric* last = nullptr;
  size_t i = 0;
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    const char its = signs[i++];
    if (its == sign::good) return &f;
    if (its == sign::last && last == nullptr) last = &f;
  }
  return last;
}

}  // namespace

bool leads_to_hosts(const fabric& f) { return f.id != attr_backend_t::shm && f.id != attr_backend_t::sim; }

choice::choice(address_exchange& exchange, const net_context_attr_t& attr) : exchange_(exchange) {
  for (const fabric& f : fabrics()) {
    if (!leads_to_hosts(f)) continue;
    const auto [why_not, last_choice, refused] = f.look(attr);
    static_cast<void>(refused);  // the other networks are tried anyway
    mine_ += !why_not.empty() ? sign::unusable : last_choice ? sign::last : sign::good;
    if (!why_not.empty()) why_ += std::string(why_.empty() ? "" : "; ") + f.name + ": " + why_not;
  }
  own_ = best_between_hosts(mine_);
  offered_ = exchange.offer(mine_);
}

const fabric& choice::of_all() {
  std::string everywhere = mine_;
  const std::vector<std::string> all = exchange_.read_all(offered_);
  for (const std::string& one : all)
    for (size_t i = 0; i < everywhere.size(); ++i)
      everywhere[i] = std::min(everywhere[i], one.size() == mine_.size() ? one[i] : sign::unusable);
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
                        "; ranks of a large job don't negotiate this; set LCI_ATTR_BACKEND to one that all can use, or "
                        "raise LCI_ATTR_EAGER_ADDRESSES");
}

void choice::throw_none() const {
  throw_invalid("alloc_net_context", "backend", "auto",
                "a network between hosts that all ranks can use, since they don't share one host",
                why_.empty() ? "some ranks have none: `lci_info` on their hosts tells why" : why_);
}

}  // namespace lci::network::routed
