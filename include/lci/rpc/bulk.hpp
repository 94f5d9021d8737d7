// Bulks: memory that peers read and write, as arguments and results of functions.
#pragma once

#include <sys/uio.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "lci/rpc/future.hpp"

namespace lci::rpc {

/// What peers may do with memory.
enum class access { read_write, read_only };

class bulk;

namespace detail {
/// The memory of a bulk, in this process or another one. Defined in the library.
class region;
LCI_API bulk read_bulk(reader& r);
LCI_API void write_bulk(writer& w, const bulk& b);
LCI_API call* transfer(const bulk& remote, const bulk& local, size_t size, bool is_pull, int64_t deadline);
}  // namespace detail

/// A transfer that operator() posts: `b.pull_x(into).deadline(1s)()` returns a future<void>.
class prepared_transfer;

/// A range of memory of this process or of another one. A value: copies and sub-ranges share one registration, which
/// ends with the last of them. As an argument or a result, a bulk refers to the same memory at the receiver.
/// Thread-safe except for assignment.
class LCI_API bulk {
 public:
  /// No memory. Encoded as HG_BULK_NULL.
  bulk() = default;
  explicit operator bool() const { return region_ != nullptr; }
  size_t size() const { return size_; }
  bool is_local() const;
  /// A sub-range. Throws lci::invalid_argument_error if it leaves this range.
  bulk sub(size_t offset, size_t size) const;

  /// Copies from this bulk, usually memory of another process, to `local`; as many bytes as the smaller of both has.
  prepared_transfer pull_x(const bulk& local) const;
  prepared_transfer pull_x(void* local, size_t size) const;
  template <class C>
  prepared_transfer pull_x(C& container) const;
  /// Copies from `local` to this bulk, as many bytes as the smaller of both has.
  prepared_transfer push_x(const bulk& local) const;
  prepared_transfer push_x(const void* local, size_t size) const;
  template <class C>
  prepared_transfer push_x(const C& container) const;

 private:
  friend class engine;
  friend class prepared_transfer;
  friend LCI_API bulk detail::read_bulk(reader& r);
  friend LCI_API void detail::write_bulk(writer& w, const bulk& b);
  friend LCI_API detail::call* detail::transfer(const bulk& remote, const bulk& local, size_t size, bool is_pull,
                                                int64_t deadline);
  bulk(std::shared_ptr<detail::region> r, size_t offset, size_t size)
      : region_(std::move(r)), offset_(offset), size_(size) {}
  /// A bulk of this process's memory that is not registered, for one transfer with this bulk.
  bulk beside(void* data, size_t size, access a) const;

  std::shared_ptr<detail::region> region_;
  size_t offset_ = 0;
  size_t size_ = 0;
};

class LCI_API prepared_transfer {
 public:
  /// The future throws timeout_error if the transfer is not complete after this time. The network may access both
  /// sides' memory even after that, and after the future has been destroyed: do not free the memory before the peer has
  /// answered or failed.
  template <class Rep, class Period>
  prepared_transfer& deadline(std::chrono::duration<Rep, Period> d) {
    deadline_ = detail::nanoseconds_of(d);
    return *this;
  }
  /// Transfers at most this many bytes. Default: as many as the smaller side has.
  prepared_transfer& size(size_t n) {
    size_ = n < size_ ? n : size_;
    return *this;
  }
  future<void> operator()() const;

 private:
  friend class bulk;
  prepared_transfer(bulk remote, bulk local, bool is_pull)
      : remote_(std::move(remote)), local_(std::move(local)), is_pull_(is_pull) {
    size_ = remote_.size() < local_.size() ? remote_.size() : local_.size();
  }
  bulk remote_;
  bulk local_;
  bool is_pull_;
  size_t size_ = 0;
  int64_t deadline_ = detail::no_limit;
};

template <class C>
prepared_transfer bulk::pull_x(C& container) const {
  return pull_x(static_cast<void*>(container.data()), container.size() * sizeof(*container.data()));
}
template <class C>
prepared_transfer bulk::push_x(const C& container) const {
  return push_x(static_cast<const void*>(container.data()), container.size() * sizeof(*container.data()));
}

/// Encoded as by hg_proc_hg_bulk_t().
template <>
struct codec<bulk> {
  static constexpr size_t least = sizeof(uint64_t);
  static void write(writer& w, const bulk& b) { detail::write_bulk(w, b); }
  static bulk read(reader& r) { return detail::read_bulk(r); }
  static void name(std::string& to) { to += "bulk"; }
};

}  // namespace lci::rpc
