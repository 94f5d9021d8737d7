// Puts and gets of many pieces by few calls of the kernel.
//
// A call has a list of local segments and one of remote ranges, and each entry costs the kernel time: a segment about
// as much as to copy `segment_cost` bytes, a range, whose pages it looks up, as much as `range_cost` bytes. So small
// pieces that are adjacent at the peer move through a buffer, which is one segment. A get also reads small gaps between
// pieces: they lie in pages that the pieces touch, and their bytes are discarded.
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "network/shm/cma.hpp"

namespace lci::network::shm {

namespace {

constexpr size_t at_once = 256;  // pieces of a call
constexpr size_t segment_cost = 512;
constexpr size_t range_cost = 2048;
constexpr size_t buffer_size = 64 << 10;
static_assert(segment_cost + range_cost < 4096, "a gap must not contain a whole page, which might not be mapped");

/// The order of remote addresses. In it, adjacent pieces become one range, whose pages the kernel looks up once.
bool is_before(const piece& a, const piece& b) { return a.remote_addr < b.remote_addr; }

void sort(piece* pieces, size_t n) {
  if (std::is_sorted(pieces, pieces + n, is_before)) return;
  if (is_before(pieces[n - 1], pieces[0])) std::reverse(pieces, pieces + n);
  if (!std::is_sorted(pieces, pieces + n, is_before)) std::sort(pieces, pieces + n, is_before);
}

/// Pieces that follow each other at the peer.
struct series {
  size_t n;
  size_t span;  // bytes from the first to the end of the last
};

/// The series that begins with the first of `n` sorted pieces and should go through the buffer, of which `room` bytes
/// are left. One piece: none should.
series series_at(const piece* pieces, size_t n, verb kind, size_t room) {
  series s{1, pieces[0].size};
  if (s.span >= segment_cost + range_cost) return s;
  size_t saved = 0;  // in bytes that could be copied instead
  for (; s.n < n; ++s.n) {
    const piece& next = pieces[s.n];
    const uint64_t end = pieces[0].remote_addr + s.span;
    const uint64_t gap = next.remote_addr - end;  // huge if the pieces overlap
    const size_t saves = segment_cost + (gap > 0 ? range_cost : 0);
    if ((gap > 0 && kind == verb::put) || gap >= saves || gap + next.size >= saves) break;
    if (s.span + gap + next.size > room) break;
    saved += saves;
    s.span += gap + next.size;
  }
  // The buffer is worth its allocation from some pieces on.
  return saved > s.span + range_cost ? s : series{1, pieces[0].size};
}

using buffer = std::unique_ptr<std::byte[]>;

/// Up to `at_once` pieces in the order of remote addresses, as the lists of one call.
class piece_lists {
 public:
  piece_lists(verb kind, const piece* pieces, size_t n, buffer& through) : kind_(kind), pieces_(pieces), n_(n) {
    size_t used = 0;
    for (size_t i = 0; i < n;) {
      const piece& first = pieces[i];
      series s = series_at(pieces + i, n - i, kind, buffer_size - used);
      if (s.n > 1 && through == nullptr) through.reset(new (std::nothrow) std::byte[buffer_size]);
      if (s.n == 1 || through == nullptr) {
        s = {1, first.size};
        in_buffer_[i] = nullptr;
        add(first.local, first.remote_addr, first.size);
      } else {
        add(through.get() + used, first.remote_addr, s.span);
        for (size_t k = i; k < i + s.n; ++k)
          in_buffer_[k] = through.get() + used + (pieces[k].remote_addr - first.remote_addr);
        used += s.span;
      }
      i += s.n;
    }
  }

  /// Returns whether all has been copied; if not, errno says why, or the kernel has copied a part.
  template <class Call>
  bool copy(Call call, int pid) {
    if (kind_ == verb::put)
      for_each_in_buffer([](std::byte* there, const piece& p) { copy_bytes(there, p.local, p.size); });
    errno = 0;
    const ssize_t moved = call(pid, mine_.data(), n_mine_, theirs_.data(), n_theirs_, 0);
    if (moved < 0 || static_cast<size_t>(moved) != sum_) return false;
    if (kind_ == verb::get)
      for_each_in_buffer([](const std::byte* there, const piece& p) { copy_bytes(p.local, there, p.size); });
    return true;
  }

 private:
  void add(void* local, uint64_t remote, size_t size) {
    mine_[n_mine_++] = {local, size};
    if (n_theirs_ > 0 && remote == end_)
      theirs_[n_theirs_ - 1].iov_len += size;
    else
      theirs_[n_theirs_++] = {reinterpret_cast<void*>(remote), size};
    end_ = remote + size;
    sum_ += size;
  }
  template <class F>
  void for_each_in_buffer(F f) const {
    for (size_t i = 0; i < n_; ++i)
      if (in_buffer_[i] != nullptr) f(in_buffer_[i], pieces_[i]);
  }

  const verb kind_;
  const piece* const pieces_;
  const size_t n_;
  size_t n_mine_ = 0, n_theirs_ = 0, sum_ = 0;
  uint64_t end_ = 0;
  std::array<iovec, at_once> mine_, theirs_;
  std::array<std::byte*, at_once> in_buffer_;  // of each piece; null: it does not go through the buffer
};

int copy_one(int pid, verb kind, const piece& p) {
  return kind == verb::put ? write_memory(pid, p.local, p.remote_addr, p.size)
                           : read_memory(pid, p.local, p.remote_addr, p.size);
}

}  // namespace

int copy_pieces(int pid, verb kind, const piece* pieces, size_t n) {
  std::array<piece, at_once> sorted;
  buffer through;
  while (n > 0) {
    const size_t now = std::min(n, at_once);
    std::copy_n(pieces, now, sorted.data());
    sort(sorted.data(), now);
    piece_lists lists(kind, sorted.data(), now, through);
    if (!lists.copy(kind == verb::put ? process_vm_writev : process_vm_readv, pid)) {
      if (errno != 0 && errno != EINTR) return errno;
      // Part of a call: all again, one by one, which also says why.
      for (size_t i = 0; i < now; ++i)
        if (const int error = copy_one(pid, kind, sorted[i]); error != 0) return error;
    }
    pieces += now;
    n -= now;
  }
  return 0;
}

}  // namespace lci::network::shm
