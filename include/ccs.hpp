// CCS in C++17: operations as functors (ccs/operations.hpp, generated), typed handlers, and RAII classes. The program
// calls CCS_init and CCS_finalize, or creates a ccs::session. Errors are thrown as ccs::error.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "ccs.hpp needs C++17: compile with -std=c++17; ccs.h is the interface for C and for earlier C++"
#endif

#include <mutex>

#include "ccs/objects.hpp"
#include "ccs/operations.hpp"

namespace ccs {

namespace detail {

/// Owns the functions of handlers until CCS is finalized, since messages may arrive until then. Thread-safe.
class kept_functions {
 public:
  static kept_functions& all() {
    static kept_functions one;
    return one;
  }
  template <class F>
  F* keep(F function) {
    auto made = std::make_shared<F>(std::move(function));
    const std::lock_guard guard(mutex_);
    functions_.push_back(made);
    return made.get();
  }
  void begin_session() {
    const std::lock_guard guard(mutex_);
    ++sessions_;
  }
  void end_session() {
    const std::lock_guard guard(mutex_);
    if (--sessions_ == 0) functions_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> functions_;
  unsigned sessions_ = 0;
};

}  // namespace detail

/// Initializes CCS in its constructor and finalizes it in its destructor. Both are collective. Sessions may be nested.
/// The end of the outermost session frees the functions of handlers, so it must not lie between the program's own
/// CCS_init() and CCS_finalize().
class session {
 public:
  session() {
    detail::check("session", CCS_init());
    detail::kept_functions::all().begin_session();
  }
  ~session() {
    CCS_finalize();
    detail::kept_functions::all().end_session();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
};

inline int me() {
  CCS_node_t n = 0;
  detail::check("me", CCS_get_rank(&n));
  return static_cast<int>(n);
}
inline int size() {
  CCS_node_t n = 0;
  detail::check("size", CCS_get_size(&n));
  return static_cast<int>(n);
}
inline void poll() { CCS_poll(); }
inline void barrier() { detail::check("barrier", CCS_barrier()); }

template <class... Args>
class handler;

/// A received message. Valid while its handler runs, in the handler's thread.
class message {
 public:
  message(CCS_token_t token, void* data, unsigned size) : token_(token), data_(data), size_(size) {}
  int sender() const {
    CCS_node_t n = 0;
    detail::check("message::sender", CCS_sender_rank(token_, &n));
    return static_cast<int>(n);
  }
  /// The data. Valid until the handler returns. Aligned to 16 bytes.
  void* data() const { return data_; }
  size_t size() const { return size_; }
  CCS_token_t token() const { return token_; }
  /// Sends a reply to the sender of this message, which must be a request. Throws `error`.
  template <class... Args>
  void reply(const handler<Args...>& to, const_view data, std::common_type_t<Args>... args) const;
  template <class... Args>
  void reply(const handler<Args...>& to, std::common_type_t<Args>... args) const {
    reply(to, const_view(), args...);
  }

 private:
  CCS_token_t token_;
  void* data_;
  unsigned size_;
};

/// The number of a handler with these arguments, by which messages are sent to it. All processes must register their
/// handlers in the same order. A value: copies name the same handler. Thread-safe.
template <class... Args>
class handler {
  static_assert(sizeof...(Args) <= CCS_MAX_HANDLER_ARGS, "a handler has at most 16 arguments");

 public:
  handler(CCS_context_t context, unsigned id) : context_(context), id_(id) {}

  /// Sends a message. Throws `error`.
  void operator()(int node, Args... args) const { send(node, const_view(), args...); }
  /// Sends a message with data of at most CCS_MAX_AM_LENGTH bytes. The data is copied. Throws `error`.
  void send(int node, const_view data, Args... args) const {
    detail::check("handler",
                  CCS_amrequest(context_, static_cast<CCS_node_t>(node), data.at(), static_cast<unsigned>(data.count()),
                                data.desc(), id_, unsigned{sizeof...(Args)}, detail::word_of(args)...));
  }
  CCS_context_t context() const { return context_; }
  unsigned id() const { return id_; }

 private:
  CCS_context_t context_;
  unsigned id_;
};

template <class... Args>
void message::reply(const handler<Args...>& to, const_view data, std::common_type_t<Args>... args) const {
  detail::check("message::reply", CCS_amreply(token_, data.at(), static_cast<unsigned>(data.count()), data.desc(),
                                              to.id(), unsigned{sizeof...(Args)}, detail::word_of(args)...));
}

/// A library's name space of handlers. All processes must create contexts, and the handlers of each, in the same order.
/// A context exists until CCS is finalized, independently of this object. Thread-safe.
class context {
 public:
  context() { detail::check("context", CCS_new_context(&number_)); }

  /// Registers f(const ccs::message&, Args...), which may have captures, under the next free number. Threads that call
  /// CCS call f. It must not wait and must not throw. Throws `error`.
  template <class... Args, class F>
  ccs::handler<Args...> handler(F f) {
    static_assert(std::is_invocable_v<F&, const message&, Args...>,
                  "the function takes a const ccs::message& and the handler's arguments");
    F* const kept = detail::kept_functions::all().keep(std::move(f));
    const ccs::handler<Args...> made(number_, next_++);
    void (*const function)(CCS_token_t, void*, unsigned, Args...) = call<F, Args...>;
    detail::check("context::handler",
                  CCS_register_spread_handler(number_, made.id(), reinterpret_cast<void (*)(void)>(function),
                                              static_cast<int>(sizeof...(Args))));
    detail::check("context::handler", CCS_set_handler_data(number_, made.id(), kept));
    return made;
  }
  CCS_context_t number() const { return number_; }

 private:
  template <class F, class... Args>
  static void call(CCS_token_t token, void* data, unsigned size, Args... args) noexcept {
    (*static_cast<F*>(CCS_handler_data(token)))(message(token, data, size), args...);
  }

  CCS_context_t number_ = 0;
  unsigned next_ = 0;
};

/// Registered memory at the same address in all processes, with `count` value-initialised elements. Constructor and
/// destructor are collective. The elements' destructors are not called.
template <class T>
class symmetric {
  static_assert(std::is_trivially_copyable_v<T>, "operations copy bytes");

 public:
  explicit symmetric(size_t count) : count_(count) {
    void* memory = nullptr;
    detail::check("symmetric", CCS_malloc_symmetric(count * sizeof(T), &memory));
    data_ = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(data_, count);
    barrier();
  }
  ~symmetric() { CCS_free_symmetric(data_); }
  symmetric(const symmetric&) = delete;
  symmetric& operator=(const symmetric&) = delete;

  /// The address of an element: for operations on any process's memory, and for loads and stores at this process.
  T* data() const { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) const { return data_[i]; }
  view all() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

/// A lock for handlers and threads, for std::lock_guard. A thread that holds it runs no handlers, and must not wait.
class mutex {
 public:
  mutex() { CCS_lock_init(&lock_); }
  ~mutex() { CCS_lock_destroy(&lock_); }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() { detail::check("mutex::lock", CCS_lock(&lock_)); }
  void unlock() { detail::check("mutex::unlock", CCS_unlock(&lock_)); }
  bool try_lock() { return CCS_trylock(&lock_) == CCS_SUCCESS; }

 private:
  CCS_lock_t lock_;
};

/// While an object of this class exists, no handler runs in its thread.
class no_interrupt {
 public:
  no_interrupt() { detail::check("no_interrupt", CCS_nointerrupt_begin()); }
  ~no_interrupt() { CCS_nointerrupt_end(); }
  no_interrupt(const no_interrupt&) = delete;
  no_interrupt& operator=(const no_interrupt&) = delete;
};

}  // namespace ccs
