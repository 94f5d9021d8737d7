// Transfers over a network that takes longer than a copy: while one thread transfers a piece, another one reads the
// next from the file, or writes the previous one to it.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>

#include "transfer.hpp"

namespace io_server {

namespace {

/// Wraps where the sum is no offset, which the kernel then refuses.
off_t plus(int64_t offset, size_t n) { return static_cast<off_t>(static_cast<uint64_t>(offset) + n); }

/// The jobs of one transfer, which end with this object.
class series {
 public:
  series(file_jobs& of, const open_file& file, bool writes) : of_(of) { of_.begin(file, writes); }
  ~series() { of_.end(); }
  series(const series&) = delete;
  series& operator=(const series&) = delete;

 private:
  file_jobs& of_;
};

}  // namespace

bool transfer_buffers::overlaps(size_t size) const { return piece_size_ == far_piece && size > far_piece; }

void transfer_buffers::poll() {
  try {
    lci::progress_x().device(device_)();
  } catch (const lci::peer_failure_error& e) {
    on_failure_(e.failed_rank());
  } catch (const std::bad_alloc&) {  // settle() makes progress again
  }
}

// Of the pieces of the whole transfer, the first `freed` ones have been put, those up to `sent` are being put, and
// those up to `begun` are being read. Piece number i uses the memory i % n_pieces.
int transfer_buffers::read_overlapped(const open_file& file, int client, const request& h, size_t size, size_t& total) {
  const size_t n = (size + far_piece - 1) / far_piece;
  std::array<file_jobs::job, n_pieces> jobs;
  const series ends_with_this(jobs_, file, false);
  int error = 0;
  for (size_t freed = 0, sent = 0, begun = 0; sent < n;) {
    for (; begun < n && begun - freed < n_pieces; ++begun) {
      const size_t at = begun * far_piece;
      file_jobs::job& j = jobs[begun % n_pieces];
      j = {pieces_[begun % n_pieces].memory, std::min(far_piece, size - at), plus(h.a, at)};
      jobs_.add(&j);
    }
    jobs_.finish();
    const file_jobs::job& j = jobs[sent % n_pieces];
    if (j.done < 0 && total == 0) error = j.error;
    if (j.done <= 0) break;
    piece& p = pieces_[sent % n_pieces];
    p.disp = static_cast<size_t>(h.c) + total;
    p.size = static_cast<size_t>(j.done);
    if (!post(p, lci::direction_t::OUT, client, h.memory)) break;
    poll();  // sends what the post has left
    total += p.size;
    ++sent;
    if (p.size < j.size) break;
    for (; freed < sent && (sent - freed == n_pieces || pieces_[freed % n_pieces].is != state::under_way); ++freed)
      if (!settle(pieces_[freed % n_pieces], client)) break;
    if (failed_) break;
  }
  return error;
}

// The first `written` pieces have been written, those up to `arrived` are being written, those up to `requested` are
// being got.
int transfer_buffers::write_overlapped(const open_file& file, int client, const request& h, size_t size,
                                       size_t& total) {
  const size_t n = (size + far_piece - 1) / far_piece;
  std::array<file_jobs::job, n_pieces> jobs;
  const series ends_with_this(jobs_, file, true);
  int error = 0;
  for (size_t written = 0, arrived = 0, requested = 0; written < n;) {
    for (; requested < n && requested - written < n_pieces; ++requested) {
      piece& p = pieces_[requested % n_pieces];
      p.disp = requested * far_piece;
      p.size = std::min(far_piece, size - p.disp);
      if (!post(p, lci::direction_t::IN, client, h.memory)) break;
    }
    if (failed_) break;
    if (arrived < requested) {
      piece& p = pieces_[arrived % n_pieces];
      if (!settle(p, client)) break;
      file_jobs::job& j = jobs[arrived++ % n_pieces];
      j = {p.memory, p.size, plus(h.a, p.disp)};
      jobs_.add(&j);
    }
    bool ends = false;
    while (!ends && written < arrived && (arrived == requested || jobs_.is_ready())) {
      jobs_.finish();
      const file_jobs::job& j = jobs[written % n_pieces];
      pieces_[written++ % n_pieces].is = state::free;
      if (j.done > 0) total += static_cast<size_t>(j.done);
      if (j.done < 0) error = j.error;
      ends = j.done < 0 || static_cast<size_t>(j.done) < j.size;
      if (requested < n) break;
    }
    if (ends) break;
  }
  return error;
}

}  // namespace io_server
