// The identity of an NA class, which does not depend on its connections and name.
#pragma once

#include <sys/random.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace na {

/// Random, so that a process that listens on the address of an earlier process has another identity.
using identity = std::array<uint8_t, 16>;

inline identity new_identity() {
  identity id{};
  // Signals do not interrupt a request of at most 256 bytes.
  [[maybe_unused]] const ssize_t n = getrandom(id.data(), id.size(), 0);
  return id;
}

/// A part of an identity, by which memory handles name their process.
inline uint64_t mark_of(const identity& id) {
  uint64_t mark = 0;
  std::memcpy(&mark, id.data(), sizeof mark);
  return mark;
}

}  // namespace na
