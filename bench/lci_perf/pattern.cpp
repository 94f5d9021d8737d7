#include "bench/lci_perf/pattern.hpp"

#include "bench/lci_perf/team.hpp"

namespace lci_perf {

void message_check::look(const lci::status_t& status) {
  seen.load(std::memory_order_acquire);  // K4: pairs with K3 in begin(), perhaps in another thread
  const uint64_t number = status.tag >> 8;
  sum_of_numbers.fetch_add(number, std::memory_order_relaxed);
  if (status.size != size)
    give_up("a message of " + std::to_string(size) + " bytes has come with " + std::to_string(status.size));
  if (!has_pattern(status.buffer, size, seed))
    give_up("message " + std::to_string(number) + " of " + std::to_string(size) + " bytes is not what was sent");
  const uint64_t before = seen.fetch_add(1, std::memory_order_release);  // K1: pairs with K2
  if (ordered && number != before)
    give_up("message " + std::to_string(number) + " has come in place of " + std::to_string(before));
}

void message_check::end(uint64_t count) const {
  const uint64_t all = seen.load(std::memory_order_acquire);  // K2: pairs with K1
  if (all != count || sum_of_numbers.load(std::memory_order_relaxed) != count * (count - 1) / 2)
    give_up(std::to_string(all) + " messages have come, some lost or double: it should have been " +
            std::to_string(count));
}

}  // namespace lci_perf
