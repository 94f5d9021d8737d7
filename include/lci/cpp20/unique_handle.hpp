// Owners, which free a resource when they go out of scope.
#pragma once

#include <concepts>
#include <exception>
#include <utility>

#include "lci/operations.hpp"

namespace lci {

namespace detail {

/// Frees the object of the handle, and empties the handle.
template <class Handle>
struct free_handle {
  void operator()(Handle& handle) const requires requires { free_object(&handle); }
  { free_object(&handle); }
};

/// Deleter of objects whose free operation needs a runtime.
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

/// Owns the object of a handle:
///
///   lci::unique_handle device(lci::alloc_device());
///   lci::unique_handle done(lci::alloc_sync());
///   lci::post_send_x(rank, data, size, tag, done).device(device)();
///
/// Movable, not copyable. Converts to the handle implicitly, but not from a temporary owner, which
/// would free the object before the handle is used. Destroy it in the order that the free_ functions
/// require (reverse order of allocation is right), not while others use the object. Not thread-safe.
///
/// Owners of symmetric memory free it collectively too, so all ranks must destroy them. If its runtime is not the
/// default one, pass it to the owner: `unique_handle<symmetric_t> all(memory, {runtime})`.
///
/// The destructor does not throw. If the resource can't be freed (a running graph, a pool with a
/// device), it ends the program; while another exception propagates, it leaks the resource
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
  operator Handle() const&& = delete;           // the handle would outlive its object
  const Handle* operator->() const { return &handle_; }
  bool is_empty() const { return handle_ == Handle(); }

  /// Transfers ownership of the resource to the caller.
  [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, Handle()); }
  /// Frees the resource. Throws the exception of the free operation; the resource is then still owned.
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
/// If its runtime is not the default one: `unique_rcomp(handle, {runtime})`.
using unique_rcomp = unique_handle<rcomp_t, detail::deregister_handle>;

/// Owns memory from alloc_shared(); for registrations from register_memory(), use unique_handle.
using unique_shared = unique_handle<mr_t, detail::free_shared_memory>;

/// Owns a packet from get_upacket(). A post that does not return `retry` takes ownership: then release() it.
/// Also owns the buffer of a delivered active message, `unique_packet(status.buffer)`, unless its
/// completion object has `am_in_place`. For another runtime see unique_rcomp.
using unique_packet = unique_handle<void*, detail::return_packet>;

}  // namespace lci
