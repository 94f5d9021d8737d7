#include <deque>

#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"

namespace lci::core {

// In round i a rank sends to the i-th after it and receives from the i-th before it. The number of outstanding rounds
// is bounded: more would only fill queues and use up packets.
void alltoall(alltoall_args& a) {
  constexpr size_t at_a_time = 16;
  coll::plan p("alltoall", coll::scope_of(a));
  coll::checked_bytes("alltoall", "size", a.size, 1, static_cast<size_t>(p.n()));
  coll::check_buffer("alltoall", "sendbuf", a.sendbuf, a.size);
  coll::check_buffer("alltoall", "recvbuf", a.recvbuf, a.size);
  const size_t all = a.size * static_cast<size_t>(p.n());
  coll::check_apart("alltoall", range_of(a.sendbuf, all), range_of(a.recvbuf, all));
  const auto* from = static_cast<const std::byte*>(a.sendbuf);
  auto* to = static_cast<std::byte*>(a.recvbuf);
  const auto at = [&](int rank) { return a.size * static_cast<size_t>(rank); };
  p.then(
      [own_to = to + at(p.me()), own_from = from + at(p.me()), size = a.size] { coll::copy(own_to, own_from, size); });
  std::deque<coll::plan::node> rounds;
  for (int i = 1; i < p.n(); ++i) {
    coll::plan::node before;
    if (rounds.size() == at_a_time) {
      before = rounds.front();
      rounds.pop_front();
    }
    const int target = (p.me() + i) % p.n(), source = (p.me() - i + p.n()) % p.n();
    const auto got = p.receive(source, to + at(source), a.size, 0, {before});
    const auto sent = p.send(target, from + at(target), a.size, 0, {before});
    rounds.push_back(p.then([] {}, {got, sent}));
  }
  p.run();
}

}  // namespace lci::core
