// Which of two ways of copying is faster here, by how long earlier copies took.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/two_way_choice.hpp"

namespace lci {

/// How the bytes of a large copy move.
enum class copy_way : uint8_t {
  pieces,   // by memcpy(), a piece at a time
  vectors,  // by vector_copy
};

/// What decides how repeated large copies move. The values are those of the attribute `copy_way`.
enum class copy_rule : uint8_t { measured, always_pieces, always_vectors };

/// Chooses how a thread copies, for copies of about the same size.
class copy_choice : public two_way_choice {
 public:
  /// The way of the next copy.
  copy_way next() { return two_way_choice::next() ? copy_way::vectors : copy_way::pieces; }
};

/// The choices of a thread, by the power of two of the size.
class copy_choices {
 public:
  copy_choice& of(size_t size) {
    const auto power = static_cast<unsigned>(std::bit_width(size));
    return each_[std::clamp(power, smallest, largest) - smallest];
  }

 private:
  static constexpr unsigned smallest = 15, largest = 23;  // 16 to 32 KiB, and from 4 MiB on
  std::array<copy_choice, largest - smallest + 1> each_;
};

}  // namespace lci
