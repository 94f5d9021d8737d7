#include "staging.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace io_server {

namespace {

/// A request that is outstanding, and its place in the memory.
struct piece {
  std::unique_ptr<connection::slot> call;
  size_t size = 0;
};

int error_of_copy(const connection& c) { return c.is_lost() ? EIO : EFAULT; }

request about(op what, uint64_t handle, int64_t offset, size_t size, size_t place) {
  request r;
  r.what = what;
  r.handle = handle;
  r.a = offset;
  r.b = static_cast<int64_t>(size);
  r.c = static_cast<int64_t>(place * staged_piece);
  return r;
}

}  // namespace

std::unique_lock<std::mutex> staging::try_begin() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock() && !is_prepared()) lock.unlock();
  return lock;
}

bool staging::is_near() {
  if (is_.load() == state::unknown) {
    const std::lock_guard guard(mutex_);
    return is_prepared();
  }
  return is_.load() == state::used;
}

bool staging::is_prepared() {
  if (is_.load() == state::unknown) is_.store(prepare() ? state::used : state::useless);
  return is_.load() == state::used;
}

bool staging::prepare() {
  request r;
  r.what = op::stage;
  const answer a = connection_.call(r, {}, {}, nullptr, &memory_, sizeof memory_);
  if (a.error != 0 || a.size != sizeof memory_ || memory_.size() != staged_pieces * staged_piece) return false;
  uint64_t word = 0;
  return connection_.copy(lci::direction_t::IN, &word, sizeof word, memory_, 0) == connection::copied::at_once;
}

int staging::write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind) {
  std::array<piece, staged_pieces> pieces;
  size_t sent = 0, next = 0;
  int error = 0;
  bool ends = false;
  const uint32_t group = ++last_group_;
  *done = 0;
  for (size_t i = 0; !ends; i = (i + 1) % staged_pieces) {
    for (; error == 0 && sent < size && pieces[next].size == 0; next = (next + 1) % staged_pieces) {
      piece& p = pieces[next];
      p.size = std::min(staged_piece, size - sent);
      if (connection_.copy(lci::direction_t::OUT, const_cast<char*>(static_cast<const char*>(from)) + sent, p.size,
                           memory_, next * staged_piece) == connection::copied::failed) {
        error = error_of_copy(connection_);
        p.size = 0;
        break;
      }
      request r = about(op::write_staged, handle, offset < 0 ? -1 : offset + static_cast<int64_t>(sent), p.size, next);
      r.group = group;
      r.processor = static_cast<uint32_t>(sched_getcpu());
      p.call = connection_.begin(r);
      sent += p.size;
    }
    piece& p = pieces[i];
    if (p.size == 0) break;  // an error occurred before the next piece was sent
    const answer a = connection_.end(std::move(p.call));
    if (a.error != 0 || a.result < 0 || static_cast<size_t>(a.result) > p.size) {
      error = a.error != 0 ? a.error : EIO;
      break;
    }
    *done += static_cast<size_t>(a.result);
    if (behind != nullptr) *behind = a.second;
    ends = static_cast<size_t>(a.result) < p.size || *done == size;
    p.size = 0;
  }
  for (piece& p : pieces)
    if (p.call != nullptr) (void)connection_.end(std::move(p.call));
  return error;
}

}  // namespace io_server
