// The fastest plain way to stream small messages to another process: a ring with one writer and one reader. Each slot
// is a cache line and contains its own full/empty state.
#include <atomic>
#include <cstdint>
#include <new>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"

namespace lci_perf {
namespace {

struct alignas(64) slot {
  std::atomic<uint64_t> sequence;  // position when free, position + 1 when full
  uint64_t payload[7];
};
static_assert(sizeof(slot) == 64, "a slot is a cache line");

struct alignas(64) answer_line {
  std::atomic<uint64_t> consumed{0};  // position up to which the reader has acknowledged
};

constexpr uint64_t last_of_round = 1;

class writer {
 public:
  writer(slot* slots, size_t n) : slots_(slots), mask_(n - 1) {}
  void push(uint64_t kind) {
    slot& s = slots_[position_ & mask_];
    // R1: pairs with R4 in the reader: the slot is free
    while (s.sequence.load(std::memory_order_acquire) != position_) {
    }
    s.payload[0] = kind;
    s.sequence.store(++position_, std::memory_order_release);  // R2: pairs with R3
  }
  uint64_t position() const { return position_; }

 private:
  slot* slots_;
  uint64_t mask_;
  uint64_t position_ = 0;
};

void read_for_ever(slot* slots, size_t n, answer_line* answer) {
  for (uint64_t position = 0;; ++position) {
    slot& s = slots[position & (n - 1)];
    // R3: pairs with R2: the slot is full
    while (s.sequence.load(std::memory_order_acquire) != position + 1) {
    }
    const uint64_t kind = s.payload[0];
    s.sequence.store(position + n, std::memory_order_release);  // R4: pairs with R1
    if (kind == last_of_round) {
      answer->consumed.store(position + 1, std::memory_order_release);  // R5: pairs with R6
    }
  }
}

}  // namespace

void floor_ring(const options& o) {
  auto* slots = static_cast<slot*>(shared_memory(o.slots * sizeof(slot)));
  for (size_t i = 0; i < o.slots; ++i) new (&slots[i].sequence) std::atomic<uint64_t>(i);
  auto* answer = new (shared_memory(sizeof(answer_line))) answer_line;
  reporter out(o, 2,
               {"ring of " + std::to_string(o.slots) + " slots of 64 bytes, one writer, one reader, in two processes",
                describe_binding(o.bind, 2, 1)});
  run_pair(
      o,
      [&] {
        writer w(slots, o.slots);
        uint64_t n = 0;
        std::vector<double> times = measure(o, 2, &n, [&](uint64_t count) {
          const double start = now_seconds();
          for (uint64_t i = 1; i < count; ++i) w.push(0);
          w.push(last_of_round);
          // R6: pairs with R5
          while (answer->consumed.load(std::memory_order_acquire) != w.position()) {
          }
          return now_seconds() - start;
        });
        for (double& t : times) t = figure_of(o.metric, t, static_cast<double>(n), 56);
        out.add({56, times, {}, {}});
      },
      [&] { read_for_ever(slots, o.slots, answer); });
}

}  // namespace lci_perf
