// Owners: what frees a resource when it goes out of scope.
#pragma once

#include <concepts>
#include <exception>
#include <utility>

#include "lci/operations.hpp"

namespace lci {

namespace detail {

/// Frees what the handle names, and empties the handle.
template <class Handle>
struct free_handle {
  void operator()(Handle& handle) const
    requires requires { free_object(&handle); }
  {
    free_object(&handle);
  }
};

/// The same where a runtime is needed for it.
template <class Handle>
  requires requires(Handle handle, runtime_t runtime) { free_object(&handle, runtime); }
struct free_handle<Handle> {
  runtime_t runtime{};
  void operator()(Handle& handle) const { free_object(&handle, runtime); }
};

struct deregister_handle {
  runtime_t runtime{};
  void operator()(rcomp_t& handle) const {
    deregister_rcomp_x(handle).runtime(runtime)();
    handle = 0;
  }
};

struct free_shared_memory {
  void operator()(mr_t& mr) const { free_shared(&mr); }
};

struct return_packet {
  runtime_t runtime{};
  void operator()(void*& packet) const {
    put_upacket_x(packet).runtime(runtime)();
    packet = nullptr;
  }
};

}  // namespace detail

/// Owns what a handle names:
///
///   lci::unique_handle device(lci::alloc_device());
///   lci::unique_handle done(lci::alloc_sync());
///   lci::post_send_x(rank, data, size, tag, done).device(device)();
///
/// Moves, does not copy; converts to the handle wherever one is asked for, but not where the owner
/// would be gone before the handle is used. To be destroyed like a handle is freed: in the order that
/// the free_ functions ask for (reverse order of allocation is right), not while others use it.
///
/// What is freed collectively, symmetric memory, is so by its owners, too. Of a runtime that is not the
/// default one its owner needs to know that: `unique_handle<symmetric_t> all(memory, {runtime})`.
///
/// A destructor can't throw. If the resource can't be freed (a graph that runs, a pool whose device
/// lives), that ends the program; while another exception is on its way the resource is left behind
/// instead. reset() throws.
template <class Handle, class Free = detail::free_handle<Handle>>
  requires std::invocable<const Free&, Handle&>
class [[nodiscard]] unique_handle {
 public:
  unique_handle() = default;
  explicit unique_handle(Handle handle, Free free = Free()) : free_(free), handle_(handle) {}
  unique_handle(unique_handle&& other) noexcept : free_(other.free_), handle_(other.release()) {}
  unique_handle& operator=(unique_handle&& other) noexcept {
    if (this != &other) {
      destroy();
      free_ = other.free_;
      handle_ = other.release();
    }
    return *this;
  }
  ~unique_handle() { destroy(); }

  Handle get() const { return handle_; }
  operator Handle() const& { return handle_; }  // NOLINT: implicit on purpose
  operator Handle() const&& = delete;           // it would outlive what it names
  const Handle* operator->() const { return &handle_; }
  bool is_empty() const { return handle_ == Handle(); }

  /// Gives the resource up: it is the caller's to free.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Handle()); }
  /// Frees the resource now. Throws what that throws; then it is still owned.
  void reset() {
    if (!is_empty()) free_(handle_);
  }

 private:
  void destroy() noexcept {
    try {
      reset();
    } catch (...) {
      if (std::uncaught_exceptions() == 0) std::terminate();
    }
  }

  [[no_unique_address]] Free free_;
  Handle handle_{};
};

/// Owns the registration of a completion object: `unique_rcomp queue_handle(register_rcomp(queue));`
/// Of a runtime that is not the default one: `unique_rcomp(handle, {runtime})`.
using unique_rcomp = unique_handle<rcomp_t, detail::deregister_handle>;

/// Owns what alloc_shared() gave; unique_handle is for what register_memory() gave.
using unique_shared = unique_handle<mr_t, detail::free_shared_memory>;

/// Owns a packet of get_upacket(), until a post that does not say `retry` takes it: then release() it.
/// Owns likewise what an active message was delivered in, `unique_packet(status.buffer)`, unless its
/// completion object has `am_in_place`. For another runtime as unique_rcomp.
using unique_packet = unique_handle<void*, detail::return_packet>;

}  // namespace lci
