// Data waiting to be written to a socket.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <list>
#include <memory>
#include <new>

#include "network/tcp/chunk.hpp"
#include "network/tcp/frame.hpp"

namespace lci::network::sockets {

/// A frame whose content is written directly from its source.
class content_frame {
 public:
  content_frame() = default;
  content_frame(frame_kind kind, const void* head, size_t head_size, const void* content, size_t size,
                void* context = nullptr)
      : context_(context), content_(static_cast<const std::byte*>(content)), size_(size) {
    std::byte* const behind = put_frame_head(head_.data(), kind, head_size + size);
    if (head_size > 0) std::memcpy(behind, head, head_size);
    head_size_ = sizeof(frame_head) + head_size;
    left_ = frame_room(head_size + size);
    padding_ = left_ - head_size_ - size;
  }

  /// Context of the operation to complete when the frame is written, or nullptr.
  void* context() const { return context_; }
  bool is_written() const { return left_ == 0; }
  /// Accounts for `n` bytes that were written. Returns how many of them belong to what follows.
  size_t advance(size_t n) {
    const size_t own = std::min(left_, n);
    left_ -= own;
    return n - own;
  }

  /// The pieces still to be written.
  std::array<iovec, 3> pieces() const {
    static constexpr std::array<std::byte, frame_alignment> zeros{};
    size_t skip = head_size_ + size_ + padding_ - left_;
    const auto behind = [&skip](const std::byte* at, size_t size) {
      const size_t left_out = skip < size ? skip : size;
      skip -= left_out;
      return iovec{const_cast<std::byte*>(at) + left_out, size - left_out};
    };
    const iovec head = behind(head_.data(), head_size_), content = behind(content_, size_);
    return {head, content, behind(zeros.data(), padding_)};
  }

 private:
  void* context_ = nullptr;
  const std::byte* content_ = nullptr;
  size_t size_ = 0, head_size_ = 0, padding_ = 0;
  size_t left_ = 0;
  std::array<std::byte, sizeof(frame_head) + sizeof(put_head)> head_{};
};

/// Frames that were copied; or, if `copied` is null, a single frame with content.
struct outgoing {
  std::unique_ptr<chunk> copied;
  content_frame content;

  bool is_written() const { return copied != nullptr ? copied->empty() : content.is_written(); }
};

/// What one call writes: a chunk, or the content frames that wait behind each other. Refers to entries of a list that
/// stay there until they are written.
class batch {
 public:
  /// Frames, of at most two pieces and padding each.
  static constexpr size_t most = 8;

  batch() = default;
  explicit batch(outgoing& only) : n_(1) { entries_[0] = &only; }
  explicit batch(std::list<outgoing>& waiting) {
    for (outgoing& o : waiting) {
      if (n_ == most || (n_ > 0 && o.copied != nullptr)) return;
      entries_[n_++] = &o;
      if (o.copied != nullptr) return;
    }
  }
  bool empty() const { return n_ == 0; }
  chunk* copied() const { return entries_[0]->copied.get(); }
  bool is_written() const { return entries_[n_ - 1]->is_written(); }

  using piece_list = std::array<iovec, 3 * most>;
  /// Fills `pieces` with what is to be written of content frames, at most `limit` bytes. Returns the number of pieces.
  size_t gather(piece_list& pieces, size_t limit) const {
    size_t n = 0;
    for (size_t i = 0; i < n_; ++i)
      for (iovec piece : entries_[i]->content.pieces()) {
        piece.iov_len = std::min(piece.iov_len, limit);
        limit -= piece.iov_len;
        if (piece.iov_len > 0) pieces[n++] = piece;
      }
    return n;
  }
  void advance(size_t written) {
    for (size_t i = 0; i < n_; ++i) written = entries_[i]->content.advance(written);
  }

 private:
  std::array<outgoing*, most> entries_{};
  size_t n_ = 0;
};

/// Appends an empty chunk. False without memory.
inline bool append_chunk(std::list<outgoing>& to, chunk_pool& from) {
  try {
    to.push_back({from.take(), {}});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace lci::network::sockets
