// Results that do not fit in one response message.
#pragma once

#include <na.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/layers/mercury/wire.hpp"

namespace lci::rpc::detail {

class engine_core;

/// Returns how many bytes of the result each part contains, except for the last one, which may contain fewer.
/// `largest_response`: the most bytes that a response may have, with its headers.
constexpr size_t bytes_of_part(size_t largest_response) {
  return largest_response - sizeof(mercury::response_header) - sizeof(mercury::part_header);
}

/// A result that arrives in parts, in any order. For one thread at a time.
///
/// Invariant: each part is as long as its place says and has come once, so a result without missing parts consists of
/// bytes that the peer has sent.
class result_parts {
 public:
  enum class state { incomplete, complete, damaged, too_large, no_memory };

  /// Adds the part in a response's payload. `most`: bytes that the program accepts.
  state add(const char* payload, size_t size, size_t largest_response, size_t most);
  void clear();
  bool any() const { return bytes_ != nullptr; }
  const char* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

 private:
  bool allocate(size_t parts);

  std::unique_ptr<char[]> bytes_;
  std::unique_ptr<uint64_t[]> has_;  // a bit for each part
  size_t size_ = 0;
  size_t missing_ = 0;  // parts
};

/// Sends `size` bytes in several responses with this tag and cookie, from which the caller assembles the result. Stops
/// if the caller fails or disconnects. Returns false, having sent nothing, if there is no memory.
bool send_in_parts(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result,
                   size_t size);

}  // namespace lci::rpc::detail
