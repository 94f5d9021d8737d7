// Buffers: `writer` encodes values into messages, `reader` decodes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "lci/config.hpp"
#include "lci/rpc/errors.hpp"

namespace lci::rpc {

namespace detail {
class engine_core;

[[noreturn]] LCI_API void throw_cut_message();
[[noreturn]] LCI_API void throw_bad_message(const char* what);

/// The engine and the peer of a message. Codecs of memory handles need them.
struct place {
  engine_core* engine = nullptr;
  void* peer = nullptr;  // a na_addr_t
};
}  // namespace detail

/// Appends encoded values to a message. If the message is full, moves to memory that it owns. Thread-bound. Invariant:
/// begin <= at <= end.
class writer {
 public:
  /// A large piece of the caller's memory that is an argument and is not copied. It follows the first `after` encoded
  /// bytes.
  struct borrowed {
    size_t after;
    const void* data;
    size_t size;
  };
  /// Bytes. Pieces of at least this size may be borrowed; copying a smaller one costs less than describing it.
  static constexpr size_t borrow_from = 32 * 1024;

  /// Encodes into `buffer` until it is full. `may_borrow`: the caller does not change its pieces before the call ends.
  writer(char* buffer, size_t size, bool may_borrow, detail::place where)
      : begin_(buffer), at_(buffer), end_(buffer + size), may_borrow_(may_borrow), where_(where) {}
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  void bytes(const void* data, size_t n) {
    char* const to = skip(n);
    if (n > 0) std::memcpy(to, data, n);
  }
  /// Appends the bytes of a value. Both ends have the same byte order.
  template <class T>
  void raw(const T& value) {
    std::memcpy(skip(sizeof value), &value, sizeof value);
  }
  /// Appends bytes, or borrows them if they are many.
  void block(const void* data, size_t n) {
    if (n >= borrow_from && may_borrow_) {
      pieces_.push_back({used(), data, n});
    } else {
      bytes(data, n);
    }
  }
  /// Appends n bytes and returns their address; the caller writes them.
  char* skip(size_t n) {
    if (n > static_cast<size_t>(end_ - at_)) grow(n);
    char* const to = at_;
    at_ += n;
    return to;
  }

  const char* data() const { return begin_; }
  size_t used() const { return static_cast<size_t>(at_ - begin_); }
  bool has_moved() const { return extra_ != nullptr; }
  const std::vector<borrowed>& pieces() const { return pieces_; }
  std::unique_ptr<char[]> release_extra() { return std::move(extra_); }
  const detail::place& where() const { return where_; }

  /// For serialize(archive): encodes each.
  template <class... T>
  writer& operator()(const T&... values);
  template <class T>
  writer& operator&(const T& value) {
    return (*this)(value);
  }

 private:
  LCI_API void grow(size_t n);

  char* begin_;
  char* at_;
  char* end_;
  const bool may_borrow_;
  const detail::place where_;
  std::unique_ptr<char[]> extra_;
  std::vector<borrowed> pieces_;
};

/// Decodes values from a message. Checks each length against the bytes that are left. Views refer to the message, or to
/// memory that the reader owns. Thread-bound. Invariant: at <= end.
class reader {
 public:
  reader(const char* data, size_t size, detail::place where) : at_(data), end_(data + size), where_(where) {}
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  size_t left() const { return static_cast<size_t>(end_ - at_); }
  /// The next n bytes. Throws message_error if there are fewer.
  const char* take(size_t n) {
    if (n > left()) detail::throw_cut_message();
    const char* const from = at_;
    at_ += n;
    return from;
  }
  void bytes(void* to, size_t n) {
    const char* const from = take(n);
    if (n > 0) std::memcpy(to, from, n);
  }
  template <class T>
  T raw() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  /// Reads a number of elements, each of which has at least `least` bytes. Throws message_error if the message is too
  /// short for them, so that a wrong number allocates no memory.
  size_t count(size_t least) {
    const auto n = raw<uint64_t>();
    if (n > left() / (least > 0 ? least : 1)) detail::throw_cut_message();
    return static_cast<size_t>(n);
  }
  /// Allocates memory that is aligned for every type and is freed with the reader.
  void* keep(size_t n) {
    kept_.push_back(
        std::make_unique<std::max_align_t[]>((n + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)));
    return kept_.back().get();
  }
  const detail::place& where() const { return where_; }

  /// How deeply structs may be nested in a message. A struct may contain a vector of its own type, so the peer decides
  /// how deep the decoder's recursion goes; without a limit it could exhaust the stack.
  static constexpr int deepest = 1000;
  /// A scope in which a struct is decoded. The constructor throws message_error at the deepest nesting.
  class nested {
   public:
    explicit nested(reader& r) : reader_(r) {
      if (r.depth_ == deepest) detail::throw_bad_message("structs are nested more than 1000 times");
      ++r.depth_;
    }
    ~nested() { --reader_.depth_; }
    nested(const nested&) = delete;
    nested& operator=(const nested&) = delete;

   private:
    reader& reader_;
  };

  /// For serialize(archive): decodes each.
  template <class... T>
  reader& operator()(T&... values);
  template <class T>
  reader& operator&(T& value) {
    return (*this)(value);
  }

 private:
  const char* at_;
  const char* end_;
  const detail::place where_;
  int depth_ = 0;
  std::vector<std::unique_ptr<std::max_align_t[]>> kept_;
};

}  // namespace lci::rpc
