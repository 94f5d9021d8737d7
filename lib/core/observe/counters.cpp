#include "lib/core/observe/counters.hpp"

#include <utility>

namespace lci::core {

namespace {

constexpr std::pair<counted, count_t counters_t::*> members[] = {
    {counted::am_sent, &counters_t::am_sent},
    {counted::am_received, &counters_t::am_received},
    {counted::send_sent, &counters_t::send_sent},
    {counted::send_received, &counters_t::send_received},
    {counted::rendezvous_sent, &counters_t::rendezvous_sent},
    {counted::rendezvous_received, &counters_t::rendezvous_received},
    {counted::rendezvous_in_fragments, &counters_t::rendezvous_in_fragments},
    {counted::signal_sent, &counters_t::signal_sent},
    {counted::signal_received, &counters_t::signal_received},
    {counted::recv, &counters_t::recv},
    {counted::put, &counters_t::put},
    {counted::get, &counters_t::get},
    {counted::copied_by_vectors, &counters_t::copied_by_vectors},
    {counted::atomic, &counters_t::atomic},
    {counted::retry, &counters_t::retry},
    {counted::busy_send, &counters_t::busy_send},
    {counted::busy_recv, &counters_t::busy_recv},
    {counted::busy_poll, &counters_t::busy_poll},
    {counted::no_memory, &counters_t::no_memory},
};
static_assert(std::size(members) == static_cast<size_t>(counted::count));

}  // namespace

void counters::add_row(counters_t& to, const row& from) const {
  for (const auto& [what, member] : members) {
    const cell& c = from.cells[static_cast<size_t>(what)];
    (to.*member).messages += c.messages.load(std::memory_order_relaxed);
    (to.*member).bytes += c.bytes.load(std::memory_order_relaxed);
  }
}

counters_t counters::read(int peer) const {
  counters_t result;
  if (peer >= 0) {
    add_row(result, rows_[static_cast<size_t>(peer)]);
  } else {
    for (const row& r : rows_) add_row(result, r);
  }
  return result;
}

}  // namespace lci::core
