#include "lib/layers/armci/collectives.hpp"

#include <algorithm>
#include <cstring>

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

namespace {

/// Keys of messages: those of different operations of a group differ.
enum class step : uint64_t { barrier = 1, broadcast, reduce, gather };
uint64_t key_of(const group& g, step s) { return inbox::key_of(g.key, static_cast<uint64_t>(s)); }

int highest_power(int n) {
  int p = 1;
  while (p < n) p *= 2;
  return p;
}

}  // namespace

void collectives::send(const group& g, size_t member, uint64_t key, const void* bytes, size_t size) {
  insist_for_others([&] { inbox_.send_of_group(g, g.members[member], key, bytes, size); });
}

void collectives::receive(const group& g, size_t member, uint64_t key, void* bytes, size_t size) {
  insist_for_others([&] { inbox_.receive_of_group(g, g.members[member], key, bytes, size); });
}

void collectives::barrier(const group& g) {
  const uint64_t key = key_of(g, step::barrier);
  const int n = g.size();
  for (int distance = 1; distance < n; distance *= 2) {
    send(g, static_cast<size_t>((g.me + distance) % n), key, nullptr, 0);
    receive(g, static_cast<size_t>((g.me + n - distance) % n), key, nullptr, 0);
  }
}

void collectives::broadcast(const group& g, int root, void* bytes, size_t size) {
  const uint64_t key = key_of(g, step::broadcast);
  const int n = g.size(), mine = (g.me - root + n) % n;
  const auto member = [&](int relative) { return static_cast<size_t>((relative + root) % n); };
  int bit = 1;
  for (; bit < n; bit *= 2) {
    if ((mine & bit) == 0) continue;
    receive(g, member(mine - bit), key, bytes, size);
    break;
  }
  if (mine == 0) bit = highest_power(n);
  for (bit /= 2; bit > 0; bit /= 2)
    if (mine + bit < n) send(g, member(mine + bit), key, bytes, size);
}

void collectives::reduce(const group& g, void* x, size_t n, const combination& combine, bool to_all) {
  const size_t bytes = n * combine.size;
  if (combine.prepare != nullptr) combine.prepare(x, n);
  const uint64_t key = key_of(g, step::reduce);
  std::vector<std::byte> other;
  for (int bit = 1; bit < g.size(); bit *= 2) {
    if ((g.me & bit) != 0) {
      send(g, static_cast<size_t>(g.me - bit), key, x, bytes);
      break;
    }
    if (g.me + bit >= g.size()) continue;
    insist_for_others([&] { other.resize(bytes); });
    receive(g, static_cast<size_t>(g.me + bit), key, other.data(), bytes);
    combine.combine(x, other.data(), n);
  }
  if (to_all) broadcast(g, 0, x, bytes);
}

void collectives::gather_all(const group& g, const void* mine, void* all, size_t size) {
  const uint64_t key = key_of(g, step::gather);
  auto* const parts = static_cast<std::byte*>(all);
  const auto n = static_cast<size_t>(g.size()), me = static_cast<size_t>(g.me);
  std::memcpy(parts + me * size, mine, size);
  // Each passes on what it has: log n rounds.
  std::vector<std::byte> passed;
  insist_for_others([&] { passed.resize(n * size); });
  for (size_t have = 1; have < n;) {
    const size_t some = std::min(have, n - have);
    const size_t to = (me + n - have) % n, from = (me + have) % n;
    for (size_t i = 0; i < some; ++i) std::memcpy(passed.data() + i * size, parts + (me + i) % n * size, size);
    send(g, to, key, passed.data(), some * size);
    receive(g, from, key, passed.data(), some * size);
    for (size_t i = 0; i < some; ++i) std::memcpy(parts + (from + i) % n * size, passed.data() + i * size, size);
    have += some;
  }
}

}  // namespace armci_layer
