// What tells processes apart, whatever their connections and names.
#pragma once

#include <sys/random.h>

#include <array>
#include <cstdint>

namespace na {

/// Random, so that a process that listens where another one did before has another identity.
using identity = std::array<uint8_t, 16>;

inline identity new_identity() {
  identity id{};
  // A request of so few bytes is not interrupted by signals.
  [[maybe_unused]] const ssize_t n = getrandom(id.data(), id.size(), 0);
  return id;
}

}  // namespace na
