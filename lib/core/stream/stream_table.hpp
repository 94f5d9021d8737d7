// A runtime's outgoing and incoming streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <forward_list>
#include <mutex>
#include <vector>

#include "lib/concurrent/mpmc_array.hpp"
#include "lib/core/stream/stream.hpp"
#include "lib/core/stream/stream_order.hpp"

namespace lci::core {

/// Owns one object for each stream and peer, made at first use and freed with the table.
/// Thread-safe; find() takes no lock.
template <class T>
class stream_peers {
 public:
  using row = mpmc_array<T*>;  // by peer
  /// Returns null if there is none yet.
  T* find(uint16_t stream, int peer) const {
    const row* r = rows_.get(stream);
    return r == nullptr ? nullptr : r->get(static_cast<size_t>(peer));
  }
  /// Made from `values` if there is none yet.
  template <class... Values>
  T& get(uint16_t stream, int peer, const Values&... values) {
    if (T* found = find(stream, peer)) return *found;
    std::lock_guard guard(mutex_);
    row& r = row_of(stream);
    if (T* found = r.get(static_cast<size_t>(peer))) return *found;
    T* made = &owned_.emplace_front(values...);
    r.put(static_cast<size_t>(peer), made);
    return *made;
  }
  /// Valid as long as the table. Made if there is none yet.
  const row& get_row(uint16_t stream) {
    std::lock_guard guard(mutex_);
    return row_of(stream);
  }
  template <class F>
  void for_each_of(uint16_t stream, F f) {
    row* r = rows_.get(stream);
    for (size_t i = 0, n = r == nullptr ? 0 : r->size(); i < n; ++i)
      if (T* each = r->get(i)) f(*each);
  }
  template <class F>
  void for_each_with(int peer, F f) {
    for (size_t i = 0, n = rows_.size(); i < n; ++i)
      if (T* each = find(static_cast<uint16_t>(i), peer)) f(*each);
  }
  template <class F>
  void for_each(F f) {
    std::lock_guard guard(mutex_);
    for (T& each : owned_) f(each);
  }

 private:
  row& row_of(uint16_t stream) {  // under mutex_
    row* r = rows_.get(stream);
    if (r == nullptr) {
      r = &owned_rows_.emplace_back(1);
      rows_.put(stream, r);
    }
    return *r;
  }

  mpmc_array<row*> rows_{1};  // by stream
  std::mutex mutex_;
  std::deque<row> owned_rows_;  // under mutex_
  std::forward_list<T> owned_;  // under mutex_
};

/// Allocates stream ids, and owns the outgoing and incoming state of all streams. Thread-safe.
class stream_table {
 public:
  explicit stream_table(runtime& rt) : rt_(rt) {}

  uint16_t add(const stream_attr_t& attr);
  void remove(uint16_t id);
  outgoing_stream& outgoing(const stream& s, int peer);
  /// All of a stream's id. Valid as long as the table.
  const outgoing_row& outgoing_of(uint16_t id) { return outgoing_.get_row(id); }
  /// Returns null if nothing was ever posted in that stream to that peer.
  outgoing_stream* find_outgoing(uint16_t id, int peer) const { return outgoing_.find(id, peer); }
  incoming_stream& incoming(int peer, uint16_t id);
  /// Returns null if no message of the stream `id` has arrived from `peer` yet.
  incoming_stream* find_incoming(int peer, uint16_t id) const { return incoming_.find(id, peer); }
  /// Called when the device is freed: removes the messages that it holds back from all streams, and returns them.
  outgoing_stream::held_list take_held(const device& d);
  /// The peer has failed: drops the messages held for it.
  void lose(int peer);
  /// The peer's id has been given to another peer: restarts all sequence numbers.
  void begin_anew(int peer);

 private:
  runtime& rt_;
  stream_peers<outgoing_stream> outgoing_;
  stream_peers<incoming_stream> incoming_;
  std::mutex mutex_;
  std::vector<bool> used_;  // ids of this rank's streams; under mutex_
};

}  // namespace lci::core
