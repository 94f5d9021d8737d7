#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"

namespace lci::core {

// After round k a rank has combined the items of the 2^(k+1) ranks that end with it.
void scan(scan_args& a) {
  coll::plan p("scan", coll::scope_of(a));
  coll::check_function("scan", a.op);
  const size_t bytes = coll::checked_bytes("scan", "count", a.count, a.item_size);
  coll::check_buffer("scan", "sendbuf", a.sendbuf, bytes);
  coll::check_buffer("scan", "recvbuf", a.recvbuf, bytes);
  coll::check_apart("scan", range_of(a.sendbuf, bytes), range_of(a.recvbuf, bytes), a.sendbuf == a.recvbuf);
  const coll::reduction items{a.count, a.item_size, a.op};
  void* sum = a.recvbuf;
  auto last = p.then([=, from = a.sendbuf] { coll::copy(sum, from, bytes); });
  size_t round = 0;
  for (int distance = 1; distance < p.n(); distance *= 2, ++round) {
    coll::plan::node sent, got;
    std::byte* before = nullptr;
    if (p.me() + distance < p.n()) sent = p.send(p.me() + distance, sum, bytes, round, {last});
    if (p.me() >= distance) got = p.receive(p.me() - distance, before = p.scratch(bytes), bytes, round);
    // `sum` must not change while it is being sent.
    last = p.then(
        [=] {
          if (before != nullptr) items.combine(before, sum, sum, items.count);
        },
        {last, sent, got});
  }
  p.run();
}

}  // namespace lci::core
