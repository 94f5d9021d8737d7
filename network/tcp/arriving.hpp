// Content that is being received into its destination.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "network/tcp/chunk.hpp"

namespace lci::network::sockets {

/// The rest of a frame with content, which is read directly into its destination. Not thread-safe.
class arriving {
 public:
  enum class kind : uint8_t { nothing, put, data };

  arriving() = default;
  arriving(kind what, std::byte* to, size_t size, size_t padding)
      : what_(what), to_(to), left_(size), padding_(padding) {}

  kind what() const { return what_; }
  size_t size() const { return left_; }  ///< bytes still to be read
  explicit operator bool() const { return what_ != kind::nothing; }
  bool is_whole() const { return left_ == 0 && padding_ == 0; }

  /// Takes as much as possible from bytes that were read together with others.
  void take_from(chunk& in) {
    const size_t content = std::min(left_, in.size());
    if (content > 0) copy_bytes(to_, in.data(), content);
    in.begin += content;
    const size_t padding = std::min(padding_, in.size());
    in.begin += padding;
    advance(content + padding);
  }
  /// Where to read the missing bytes.
  std::array<iovec, 2> places() { return {iovec{to_, left_}, iovec{unread_.data(), padding_}}; }
  /// Accounts for `n` bytes that were read. Returns how many of them belong to what follows.
  size_t advance(size_t n) {
    const size_t content = std::min(left_, n);
    to_ += content;
    left_ -= content;
    const size_t padding = std::min(padding_, n - content);
    padding_ -= padding;
    return n - content - padding;
  }

  uint32_t flags = 0, imm = 0;  ///< of the put
  void* context = nullptr;      ///< of the get

 private:
  kind what_ = kind::nothing;
  std::byte* to_ = nullptr;
  size_t left_ = 0, padding_ = 0;
  std::array<std::byte, frame_alignment> unread_{};
};

}  // namespace lci::network::sockets
