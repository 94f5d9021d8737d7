#include "lib/core/stream/stream_table.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "lib/base/check.hpp"

namespace lci::core {

uint16_t stream_table::add(const stream_attr_t& attr) {
  constexpr size_t most = 1 << 16;  // 16 bits in a header
  std::lock_guard guard(mutex_);
  const auto free = std::find(used_.begin(), used_.end(), false);
  const auto id = static_cast<size_t>(free - used_.begin());
  if (id == most) throw_invalid("alloc_stream", "number of streams", std::to_string(id), "below 65536", "free some");
  (void)outgoing_.get_row(static_cast<uint16_t>(id));  // here, since a failure of what follows would lose the id
  if (free == used_.end()) used_.push_back(true);
  used_[id] = true;
  // An earlier stream of this id has left state for some peers: give it the new window.
  outgoing_.for_each_of(static_cast<uint16_t>(id), [&](outgoing_stream& out) {
    std::lock_guard inner(out.lock);
    out.settle();
    out.window = attr.window;
    out.window_bytes = attr.window_bytes;
  });
  return static_cast<uint16_t>(id);
}

void stream_table::remove(uint16_t id) {
  std::lock_guard guard(mutex_);
  used_[id] = false;
}

outgoing_stream& stream_table::outgoing(const stream& s, int peer) { return outgoing_.get(s.id, peer, s.attr); }

incoming_stream& stream_table::incoming(int peer, uint16_t id) { return incoming_.get(id, peer, &rt_, peer, id); }

outgoing_stream::held_list stream_table::take_held(const device& d) {
  outgoing_stream::held_list all;
  outgoing_.for_each([&](outgoing_stream& out) {
    std::lock_guard guard(out.lock);
    for (auto at = out.held.begin(); at != out.held.end();) {
      const auto next = std::next(at);
      if (at->by == &d) all.splice(all.end(), out.held, at);
      at = next;
    }
  });
  return all;
}

void stream_table::lose(int peer) {
  std::lock_guard guard(mutex_);
  for (size_t id = 0; id < used_.size(); ++id) {
    outgoing_stream* out = outgoing_.find(static_cast<uint16_t>(id), peer);
    if (out == nullptr) continue;
    std::lock_guard inner(out->lock);
    for (const auto& message : out->held) message.end();
    out->held.clear();
  }
}

void stream_table::begin_anew(int peer) {
  outgoing_.for_each_with(peer, [](outgoing_stream& out) { out.begin_anew(); });
  incoming_.for_each_with(peer, [](incoming_stream& in) { in.begin_anew(); });
}

}  // namespace lci::core
