// Copies of many bytes, which use what the copy before has left in the caches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/copy_choice.hpp"
#include "lib/base/copy_vectors.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"

namespace lci {

/// The order of a large copy's bytes. `usual`: that of memmove().
enum class copy_order { usual, up, down };

/// The order of a thread's next large copy. One between the same places as the copy before goes the other way, because
/// the bytes that were copied last are still in the caches. One for each thread; not thread-safe.
class copy_direction {
 public:
  copy_order next(const void* to, const void* from) {
    order_ = to != to_ || from != from_   ? copy_order::usual
             : order_ == copy_order::down ? copy_order::up
                                          : copy_order::down;
    to_ = to;
    from_ = from;
    return order_;
  }

 private:
  const void* to_ = nullptr;
  const void* from_ = nullptr;
  copy_order order_ = copy_order::usual;
};

/// memmove() of any size, for copies by a program's puts and gets, which are often repeated between the same buffers.
/// Above largest_usual bytes, which fit in the first cache twice, copy_direction decides the order of the bytes and, if
/// that is not the usual one, copy_choice how they move.
class large_copy {
 public:
  static constexpr size_t largest_usual = size_t{16} << 10;

  /// Returns whether the bytes moved by vectors.
  static bool copy(void* to, const void* from, size_t size) {
    const how done = LCI_LIKELY(size <= largest_usual) ? how::not_at_all : copy_again(to, from, size);
    if (done == how::not_at_all) move_bytes(to, from, size);
    return done == how::by_vectors;
  }
  /// Decides how all threads copy from now on, in this library. Thread-safe.
  static void set_rule(copy_rule r) { rule.store(r, std::memory_order_relaxed); }
  /// Copies `size` bytes, the last piece first. The ranges must not overlap.
  static void copy_down(void* to, const void* from, size_t size) {
    const size_t piece = piece_of(size);
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    while (size > 0) {
      const size_t n = std::min(size, piece);
      size -= n;
      copy_bytes(dest + size, src + size, n);
    }
  }
  /// Copies `size` bytes, the first piece first. The ranges must not overlap. A memcpy() of the whole may go downwards:
  /// that of glibc 2.36 does where both ranges have the same place in their pages, from 512 KiB on on AMD EPYC.
  static void copy_up(void* to, const void* from, size_t size) {
    const size_t piece = piece_of(size);
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    for (size_t at = 0; at < size; at += piece) copy_bytes(dest + at, src + at, std::min(size - at, piece));
  }

 private:
  // Each piece is copied upwards, as that is what memcpy() is fastest at. The shorter they are, the more
  // bytes of the previous copy are still in the first-level cache; the longer they are, the fewer calls are needed.
  static constexpr size_t short_piece = size_t{8} << 10;
  static constexpr size_t long_piece = size_t{16} << 10;
  static constexpr size_t fewest_in_long = size_t{128} << 10;

  static size_t piece_of(size_t size) { return size < fewest_in_long ? short_piece : long_piece; }

  /// What a thread knows of its earlier copies.
  struct history {
    copy_direction direction;
    copy_choices choices;
  };

  enum class how : uint8_t { not_at_all, by_pieces, by_vectors };

  // Relaxed: no other data depends on it.
  static inline std::atomic<copy_rule> rule{copy_rule::measured};

  /// A copy between the same places as the one before. Copies nothing if it is not one, or the ranges overlap.
  LCI_NOINLINE static how copy_again(void* to, const void* from, size_t size) {
    static constinit thread_local history mine;
    const copy_order order = mine.direction.next(to, from);
    const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
    if (order == copy_order::usual || distance < size || -distance < size) return how::not_at_all;
    const copy_rule now = rule.load(std::memory_order_relaxed);
    copy_way way = copy_way::pieces;
    if (now == copy_rule::measured && vector_copy::is_usable()) {
      way = copy_by_faster_way(mine.choices.of(size), order, to, from, size);
    } else {
      if (now == copy_rule::always_vectors && vector_copy::is_usable()) way = copy_way::vectors;
      copy_in_order(way, order, to, from, size);
    }
    return way == copy_way::vectors ? how::by_vectors : how::by_pieces;
  }
  static copy_way copy_by_faster_way(copy_choice& choice, copy_order order, void* to, const void* from, size_t size) {
    const copy_way way = choice.next();
    const bool is_measured = choice.is_measured();
    const uint64_t begun = is_measured ? cpu_ticks() : 0;
    copy_in_order(way, order, to, from, size);
    if (is_measured) choice.took(static_cast<float>(cpu_ticks() - begun) / static_cast<float>(size));
    return way;
  }
  static void copy_in_order(copy_way way, copy_order order, void* to, const void* from, size_t size) {
    if (way == copy_way::vectors)
      order == copy_order::down ? vector_copy::down(to, from, size) : vector_copy::up(to, from, size);
    else
      order == copy_order::down ? copy_down(to, from, size) : copy_up(to, from, size);
  }
};

}  // namespace lci
