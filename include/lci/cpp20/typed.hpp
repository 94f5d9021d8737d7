// Typed buffers and values.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "lci/types.hpp"

namespace lci {

/// A type that may be sent as its bytes. Excludes pointers, which are meaningless in other processes; structures that
/// contain pointers are not detected.
template <class T>
concept byte_copyable = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_member_pointer_v<T> &&
                        !std::is_null_pointer_v<T>;

/// The bytes of a contiguous range, in place of pointer and size:
/// `post_send_x(rank, buffer(numbers), tag, done)()`. Rejects temporary containers, whose bytes the operation
/// would outlive.
template <std::ranges::contiguous_range Range>
requires std::ranges::sized_range<Range> && std::ranges::borrowed_range<Range> &&
    byte_copyable<std::ranges::range_value_t<Range>>
auto buffer(Range&& range) {
  using element = std::remove_reference_t<std::ranges::range_reference_t<Range>>;
  const size_t size = std::ranges::size(range) * sizeof(element);
  if constexpr (std::is_const_v<element>) {
    return const_buffer_t(std::ranges::data(range), size);
  } else {
    return buffer_t{std::ranges::data(range), size};
  }
}

/// The bytes of one object.
template <byte_copyable T>
requires(!std::ranges::range<T>) auto buffer(T& object) {
  if constexpr (std::is_const_v<T>) {
    return const_buffer_t(&object, sizeof object);
  } else {
    return buffer_t{&object, sizeof object};
  }
}
template <byte_copyable T>
requires(!std::ranges::range<T>) void buffer(const T&& temporary) = delete;

/// The size or alignment of a message does not fit the requested type.
class LCI_API payload_error : public std::runtime_error {
 public:
  payload_error(size_t size, size_t expected, const std::string& what)
      : std::runtime_error(what), size_(size), expected_(expected) {}
  size_t size() const { return size_; }          ///< bytes of the message
  size_t expected() const { return expected_; }  ///< bytes of the type

 private:
  size_t size_, expected_;
};

namespace detail {

[[noreturn]] inline void throw_payload(const status_t& s, const char* must, size_t expected) {
  throw payload_error(s.size, expected,
                      "message of " + std::to_string(s.size) + " bytes from rank " + std::to_string(s.rank) + " (" +
                          s.error.get_str() + "): must " + must + " " + std::to_string(expected));
}

}  // namespace detail

/// A copy of the value that a message holds. Throws payload_error if the status is not done, or the message is not
/// sizeof(T) bytes long.
template <byte_copyable T>
T value(const status_t& status) {
  if (!status.is_done() || status.size != sizeof(T)) detail::throw_payload(status, "be done, and its bytes", sizeof(T));
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), status.buffer, sizeof(T));
  return std::bit_cast<T>(bytes);
}

/// A view of the values in a message's buffer: `values<const double>(status)`. Throws payload_error if the status is
/// not done, the size is not a multiple of sizeof(T), or the buffer is not aligned for `T`.
template <byte_copyable T>
std::span<T> values(const status_t& status) {
  if (!status.is_done() || status.size % sizeof(T) != 0)
    detail::throw_payload(status, "be done, and its bytes a multiple of", sizeof(T));
  if (reinterpret_cast<uintptr_t>(status.buffer) % alignof(T) != 0)
    detail::throw_payload(status, "lie at a multiple of", alignof(T));
  return {static_cast<T*>(status.buffer), status.size / sizeof(T)};
}

/// A stateless function object as the operation of a reduction:
/// `allreduce(&mine, &all, 1, sizeof mine, reduction<double, std::plus<>>)`.
template <byte_copyable T, class Op>
requires std::is_empty_v<Op> && std::default_initializable<Op> &&
    std::convertible_to<std::invoke_result_t<const Op&, const T&, const T&>, T>
inline constexpr reduce_op_t reduction = [](const void* left, const void* right, void* dst, size_t n) {
  const Op op{};
  const auto* l = static_cast<const T*>(left);
  const auto* r = static_cast<const T*>(right);
  auto* d = static_cast<T*>(dst);
  for (size_t i = 0; i < n; ++i) d[i] = op(l[i], r[i]);
};

}  // namespace lci
