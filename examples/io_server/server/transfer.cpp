#include "transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "file_data.hpp"

namespace io_server {

namespace {

/// Seconds. The server disconnects a client if a transfer makes no progress for this long.
constexpr double stall_limit = 30;
/// Seconds that the thread waits for a transfer before it lets another thread lead (on_delay).
constexpr double delay = 0.002;

}  // namespace

transfer_buffers::transfer_buffers(lci::device_t device, std::function<void(int)> on_failure)
    : device_(device),
      ends_(lci::alloc_cq()),
      on_failure_(std::move(on_failure)),
      memory_(n_pieces * far_piece / sizeof(page)),
      piece_size_(near_piece) {
  for (size_t i = 0; i < n_pieces; ++i) pieces_.push_back({reinterpret_cast<char*>(memory_.data()) + i * far_piece});
}

transfer_buffers::~transfer_buffers() { lci::free_comp(&ends_); }

bool transfer_buffers::post(piece& p, lci::direction_t direction, int client, const lci::rmr_t& memory) {
  try {
    const lci::status_t s = lci::post_comm_x(direction, client, p.memory, p.size, ends_)
                                .remote_disp(p.disp)
                                .rmr(memory)
                                .device(device_)
                                .user_context(&p)
                                .deadline(stall_limit)
                                .allow_retry(false)();
    p.is = s.is_posted() ? state::under_way : state::arrived;
    piece_size_ = s.is_posted() ? far_piece : near_piece;
    return true;
  } catch (const std::exception&) {  // the client has failed, or its memory handle is invalid
    p.is = state::free;
    failed_ = true;
    return false;
  }
}

bool transfer_buffers::settle(piece& p, int client) {
  while (p.is == state::under_way) {
    lci::status_t s;
    try {
      s = lci::cq_wait_for_x(ends_, on_delay ? delay : stall_limit).device(device_).park(!on_delay)();
    } catch (const lci::peer_failure_error& e) {
      on_failure_(e.failed_rank());
      continue;                        // then the operations with the failed peer complete, too
    } catch (const std::bad_alloc&) {  // the operations go on, and use the pieces
      continue;
    }
    if (s.is_retry()) {
      if (on_delay) std::exchange(on_delay, nullptr)();
      continue;
    }
    auto* ended = static_cast<piece*>(s.user_context);
    ended->is = state::arrived;
    if (s.is_done()) continue;
    failed_ = true;
    if (s.error.errorcode == lci::errorcode_t::timed_out) on_failure_(client);
  }
  return !failed_;
}

void transfer_buffers::settle_all(int client) {
  for (piece& p : pieces_) {
    (void)settle(p, client);
    p.is = state::free;
  }
}

int transfer_buffers::file_to_client(int fd, int client, const request& h, size_t size, size_t& total) {
  for (size_t i = 0; total < size;) {
    piece& p = pieces_[i];
    if (!settle(p, client)) return EIO;
    p.disp = static_cast<size_t>(h.c) + total;
    const size_t wanted = std::min(piece_size_, size - total);
    const ssize_t n = read_part(fd, p.memory, wanted, h.a + static_cast<off_t>(total));
    if (n < 0) return total > 0 ? 0 : errno;
    if (n == 0) return 0;
    p.size = static_cast<size_t>(n);
    if (!post(p, lci::direction_t::OUT, client, h.memory)) return EIO;
    total += p.size;
    if (p.size < wanted) return 0;
    if (p.is == state::under_way) i = (i + 1) % n_pieces;  // else reuse the same memory, which is in the cache
  }
  return 0;
}

int transfer_buffers::read(const open_file& file, int client, const request& h, reply& answer) {
  if (h.c < 0 || static_cast<size_t>(h.c) > h.memory.size()) return EINVAL;
  if (h.b < 0 || static_cast<size_t>(h.b) > std::min<size_t>(most_bulk, h.memory.size() - static_cast<size_t>(h.c)))
    return EINVAL;
  failed_ = false;
  size_t total = 0;
  const size_t size = static_cast<size_t>(h.b);
  const int error = overlaps(size) ? read_overlapped(file, client, h, size, total)
                                   : file_to_client(file.fd.get(), client, h, size, total);
  settle_all(client);
  answer.result = static_cast<int64_t>(total);
  return failed_ ? EIO : error;
}

template <class Write>
int transfer_buffers::from_client(int client, const request& h, size_t size, size_t& total, Write write) {
  size_t requested = 0;
  int error = 0;
  for (size_t i = 0, next = 0; total < size && error == 0; i = (i + 1) % n_pieces) {
    // Post gets for all pieces except the one that is being written.
    for (; requested < size && pieces_[next].is == state::free; next = (next + 1) % n_pieces) {
      piece& p = pieces_[next];
      p.disp = requested;
      p.size = std::min(piece_size_, size - requested);
      if (!post(p, lci::direction_t::IN, client, h.memory)) break;
      requested += p.size;
      if (p.is == state::arrived) {  // the post has copied the data: write it while it is in the cache
        next = (next + 1) % n_pieces;
        break;
      }
    }
    piece& p = pieces_[i];
    if (failed_ || !settle(p, client)) break;
    const ssize_t n = write(p.memory, p.size, total);
    p.is = state::free;
    if (n < 0) error = errno;
    if (n > 0) total += static_cast<size_t>(n);
    if (n >= 0 && static_cast<size_t>(n) < p.size) break;
  }
  return error;
}

int transfer_buffers::client_to_file(const open_file& file, int client, const request& h, size_t size, size_t& total) {
  return from_client(client, h, size, total, [&](const char* from, size_t n, size_t at) {
    return write_part(file, from, n, h.a + static_cast<off_t>(at), false);
  });
}

// Several clients may append. What one of them appends in one call must stay together, so one call writes it.
int transfer_buffers::append(const open_file& file, int client, const request& h, size_t size, size_t& total) {
  const std::unique_ptr<char[]> all(new (std::nothrow) char[size]);
  if (all == nullptr) return ENOMEM;
  size_t arrived = 0;
  (void)from_client(client, h, size, arrived, [&](const char* from, size_t n, size_t at) {
    std::memcpy(all.get() + at, from, n);
    return static_cast<ssize_t>(n);
  });
  if (failed_) return EIO;
  const ssize_t n = write_part(file, all.get(), size, 0, true);
  if (n < 0) return errno;
  total = static_cast<size_t>(n);
  return 0;
}

int transfer_buffers::write(const open_file& file, int client, const request& h, reply& answer) {
  if (h.b < 0 || static_cast<size_t>(h.b) > std::min<size_t>(most_bulk, h.memory.size())) return EINVAL;
  const bool appends = h.a < 0;
  if (appends && (file.flags & O_APPEND) == 0) return EINVAL;
  failed_ = false;
  const size_t size = static_cast<size_t>(h.b);
  size_t total = 0;
  const int error = appends          ? append(file, client, h, size, total)
                    : overlaps(size) ? write_overlapped(file, client, h, size, total)
                                     : client_to_file(file, client, h, size, total);
  settle_all(client);
  answer.result = static_cast<int64_t>(total);
  answer.second = behind_part(file, h.a, static_cast<ssize_t>(total), appends);
  if (failed_) return EIO;
  return total > 0 ? 0 : error;
}

}  // namespace io_server
