#include "lib/core/stream/stream.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/core/device/device.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/stream/handlers.hpp"

namespace lci::core {

stream::stream(runtime_t rt, const stream_attr_t& attributes)
    : runtime(rt),
      attr(attributes),
      id(rt.p_impl->streams.add(attributes)),
      row_(&rt.p_impl->streams.outgoing_of(id)) {}

stream::~stream() { runtime.p_impl->streams.remove(id); }

void outgoing_stream::hold(device& d, backlog::item item, size_t size, held_list& place) {
  d.pending.fetch_add(1, std::memory_order_relaxed);
  d.lifetime.begin_to_hold();
  place.front() = {&d, std::move(item), size};
  held.splice(held.end(), place, place.begin());
}

void outgoing_stream::held_message::end() const {
  by->pending.fetch_sub(1, std::memory_order_release);
  by->lifetime.end_to_hold();
}

void outgoing_stream::grant() {
  if (!has_room()) return;
  // As in asks_credit() and is_open(). Messages that exceed the smaller bound need not wait, but aren't easy.
  const uint64_t most = (window - 1) / 4, most_bytes = (window_bytes - 1) / 4;
  if (unasked >= most || unasked_bytes >= most_bytes) return;
  const uint64_t n = std::min(most - unasked, window - (sent - delivered));
  easy_begin = next;
  easy_end = next + static_cast<uint32_t>(n);
  granted_bytes = easy_bytes = std::min(most_bytes - unasked_bytes + 1, window_bytes - (sent_bytes - delivered_bytes));
}

void outgoing_stream::ask_credit(std::vector<std::byte>& message, size_t size) const {
  if (!asks_credit(size)) return;
  wire::header head;
  std::memcpy(&head, message.data(), sizeof head);
  head.policy |= wire::asks_credit;
  std::memcpy(message.data(), &head, sizeof head);
}

bool receive_credit(device& d, int peer, wire::message& m) {
  outgoing_stream* out = d.rt.streams.find_outgoing(m.head.engine, peer);
  if (out == nullptr) return false;
  outgoing_stream::held_list released;
  {
    std::lock_guard guard(out->lock);
    out->catch_up();
    const auto newly_delivered = static_cast<int32_t>(m.head.word - out->delivered);
    if (newly_delivered <= 0) return true;  // a later credit has overtaken this one
    if (static_cast<uint32_t>(newly_delivered) > out->sent - out->delivered ||
        m.head.tag - out->delivered_bytes > out->sent_bytes - out->delivered_bytes)
      return false;
    out->delivered = m.head.word;
    out->delivered_bytes = m.head.tag;
    while (!out->held.empty() && out->is_open()) {
      outgoing_stream::held_message& next = out->held.front();
      out->ask_credit(next.item.message, next.size);
      out->release(next.size);
      released.splice(released.end(), out->held, out->held.begin());
    }
  }
  for (outgoing_stream::held_message& each : released) {
    submit_or_enqueue(*each.by, std::move(each.item));
    each.end();
  }
  return true;
}

}  // namespace lci::core
