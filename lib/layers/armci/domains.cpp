#include "lib/layers/armci/domains.hpp"

#include <algorithm>
#include <numeric>

namespace armci_layer {

domains::domains(link& l, const memory& m) {
  const auto n = static_cast<size_t>(l.size());
  // The number of a host: its first process.
  int first = l.me();
  if (m.same_addresses())
    for (first = 0; !m.is_near(first);) ++first;
  std::vector<int> firsts(n);
  lci::allgather_x(&first, firsts.data(), sizeof first).runtime(l.runtime()).device(l.device())();
  // All processes have the same list of hosts, but only each process itself knows which memory it has mapped.
  int agrees = 1;
  for (size_t r = 0; r < n; ++r)
    if ((firsts[r] == first) != m.is_near(static_cast<int>(r))) agrees = 0;
  int all_agree = 0;
  lci::allreduce_x(&agrees, &all_agree, 1, sizeof agrees,
                   [](const void* a, const void* b, void* c, size_t count) {
                     for (size_t i = 0; i < count; ++i)
                       static_cast<int*>(c)[i] = std::min(static_cast<const int*>(a)[i], static_cast<const int*>(b)[i]);
                   })
      .runtime(l.runtime())
      .device(l.device())();
  const auto size = static_cast<size_t>(std::count(firsts.begin(), firsts.end(), firsts.front()));
  bool regular = all_agree != 0 && n % size == 0;
  for (size_t r = 0; regular && r < n; ++r) regular = firsts[r] == static_cast<int>(r / size * size);
  const size_t each = regular ? size : 1;
  of_.resize(n);
  members_.resize(n / each);
  for (size_t r = 0; r < n; ++r) {
    of_[r] = static_cast<int>(r / each);
    members_[r / each].push_back(static_cast<int>(r));
  }
  mine_ = of_[static_cast<size_t>(l.me())];
}

int domains::of(int proc) const {
  return proc < 0 || static_cast<size_t>(proc) >= of_.size() ? -1 : of_[static_cast<size_t>(proc)];
}

const std::vector<int>& domains::members(int id) const {
  static const std::vector<int> none;
  return id < 0 || id >= count() ? none : members_[static_cast<size_t>(id)];
}

group domains::part(const group& g, int scope) const {
  std::vector<int> chosen;
  for (const int r : g.members) {
    const bool takes_part =
        scope == SCOPE_NODE ? of(r) == mine_
                            : std::none_of(chosen.begin(), chosen.end(), [&](int other) { return of(other) == of(r); });
    if (takes_part) chosen.push_back(r);
  }
  return group(std::move(chosen), g.me < 0 ? -1 : g.members[static_cast<size_t>(g.me)]);
}

}  // namespace armci_layer
