// The implementation of an engine.
#pragma once

#include <na.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lci/rpc.hpp"
#include "lib/concurrent/biased_count.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/pool.hpp"
#include "lib/layers/na/direct.hpp"
#include "lib/layers/rpc/incoming.hpp"
#include "lib/layers/rpc/outgoing.hpp"
#include "lib/layers/rpc/run_gate.hpp"
#include "lib/layers/rpc/work.hpp"

namespace lci::rpc::detail {

/// A function that this process executes for peers. Lives as long as the engine's state, since calls refer to it.
struct local_function {
  std::string name;
  uint32_t id;
  uint32_t name_hash;
  const signature_text* signature;
  where place;
  std::unique_ptr<handler> run;          // null after the engine's close()
  const local_function* next = nullptr;  // in the same hash bucket
};

/// The state behind rpc::engine: calls, functions, queues, threads. Shared by the engine, its peers, bulks and calls.
/// Thread-safe. Between its constructor and close() it has an NA class and one context. After close() the
/// constructor of `entry` throws, and peers, bulks and calls do nothing.
class engine_core : public std::enable_shared_from_this<engine_core>, private na::direct_receiver {
 public:
  engine_core(const std::string& url, const options& o);
  ~engine_core();

  /// Starts the threads. Not done by the constructor, as they need a shared_ptr to this object.
  void start();
  /// Throws lci::invalid_argument_error if the calling thread executes a function of this engine.
  void close();
  /// Closes the engine in a thread of its own when the functions that it executes have returned.
  void close_later();
  bool is_closed() const { return closing_.load(std::memory_order_acquire); }

  /// A scope in which the calling thread may use the network. The constructor throws lci::invalid_argument_error once
  /// close() has begun. close() waits until all scopes have ended.
  ///
  /// close() misses no scope: an entry first counts the thread, then reads the flag; close() first sets the flag, then
  /// reads the count. See biased_count.hpp.
  class entry {
   public:
    explicit entry(engine_core& e) : core_(e), owned_(e.users_.enter()) {
      if (LCI_UNLIKELY(e.closing_.load(std::memory_order_seq_cst))) {
        e.users_.leave(owned_);
        throw_closed();
      }
    }
    ~entry() { core_.users_.leave(owned_); }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

   private:
    engine_core& core_;
    const bool owned_;
  };

  /// Counts a user of the network, also while the engine closes: for code that frees or answers. Returns what the same
  /// thread passes to leave().
  bool enter() { return users_.enter(); }
  void leave(bool owned) { users_.leave(owned); }
  /// Returns whether the calling thread is executing a function of this engine. Then close() waits for it, so it may
  /// use the network without enter().
  bool is_executing_here() const;
  /// Returns whether the network exists. Valid between enter() and leave().
  bool has_network() const { return !detached_.load(std::memory_order_seq_cst); }

  /// What a thread executes while it waits.
  struct duty {
    /// `own`: only calls of this process to itself, and continuations. Without these, functions that call themselves
    /// would wait for ever at the deepest nesting.
    enum { none, own, all } calls = none;
    work_queue<incoming>* pool = nullptr;  // for a thread of the pool: the calls for such threads
  };
  /// Waits until done() is true; meanwhile executes what duty_here() says. Returns promptly if done() becomes true in a
  /// callback of the network or in a function that this engine executes, otherwise within 100 ms.
  template <class Done>
  bool wait(int64_t limit_ns, Done done) {
    return wait(limit_ns, done, duty_here());
  }
  template <class Done>
  bool wait(int64_t limit_ns, Done done, const duty& d);
  /// Waits up to `ns` nanoseconds for functions to execute, and executes some. Returns whether there were any.
  bool progress(int64_t ns);
  /// Executes at most one function or continuation. Returns whether there was one.
  bool execute_one(const duty& d);
  void run();
  void stop() { gate_.stop(); }

  const remote_function& declare(const std::string& name, const signature_text& signature);
  void define(const std::string& name, const signature_text& signature, std::unique_ptr<handler> h, where w);
  /// The latest function that was defined with this id, or null. Takes no lock.
  const local_function* find(uint32_t id) const {
    const local_function* f =
        by_id_[id % by_id_.size()].load(std::memory_order_acquire);  // A2: pairs with R2 in define()
    while (f != nullptr && f->id != id) f = f->next;
    return f;
  }

  /// Connects to the process with this URL. Within an `entry`. Fails soon after close() has been called.
  na_return_t find(const std::string& url, na_addr_t* found) {
    return NA_Direct_lookup(na_, url.c_str(), found, closing_);
  }

  /// The object of the call, of this process, that a message with this tag is of or answers. Null: the tag is wrong.
  outgoing* call_of(na_tag_t tag) const { return by_number_.get((tag & ~na::more_bit) >> 1); }
  /// The address of this process.
  na_addr_t self() const { return self_; }

  /// Queues a call whose arguments are complete for execution.
  void arrived(incoming* in);
  void soon(continuation* c) { ready_.push(c); }
  /// Removes a continuation that soon() has queued, if no thread has taken it.
  void forget(continuation& c) {
    ready_.pop_if([&c](const continuation& queued) { return &queued == &c; });
  }
  bool has_work() const { return !ready_.is_empty() || !arrived_.is_empty() || !unread_.is_empty(); }

  /// Ends the call at `when_ns` even if no thread waits for it.
  void add_timer(outgoing& c, int64_t when_ns);
  void remove_timer(outgoing& c);

  /// Takes a call from the pool, which creates one if none is free.
  outgoing* take_call();
  /// take_call() for a call that the caller will post. close() waits until the call's end_posting(), so the caller may
  /// use the network meanwhile without an `entry`. Throws if the engine is closed, as the constructor of `entry` does.
  outgoing* take_call_to_post();
  uint64_t first_cookie() const { return first_cookie_; }
  /// Wakes waiting threads, because what they wait for has changed outside of a callback of the network.
  void wake() {
    lane_->note_event();
    NA_Direct_wake(context());
  }

  std::string own_url() const { return url_; }
  na_class_t* na() const { return na_; }
  na_context_t* context() const { return lane_->context(); }
  mercury::lane& lane() const { return *lane_; }

  const size_t largest;  // bytes of arguments or result
  size_t largest_request = 0;
  size_t largest_response = 0;
  uint64_t process = 0;                            // random; identifies this engine in serialized bulks
  std::unique_ptr<mercury::fetch_budget> fetched;  // for `arrivals`
  lci::biased_lock ends_lock;                      // under which calls end; only the lock of ready_ is taken under it
  mercury::pool<outgoing> calls;
  mercury::pool<incoming> arrivals;
  std::atomic<uint32_t> operations{0};  // operations of the network whose callbacks have not run

  // Exposed memory by its number.
  std::mutex regions_lock;
  std::map<uint64_t, std::weak_ptr<region>> regions;
  std::set<region*> all_regions;
  uint64_t next_region = 1;

 private:
  /// Some events come without a callback of the network, so a sleep of a waiting thread ends at least this often.
  static constexpr int64_t longest_sleep_ns = 100'000'000;

  void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) override;
  void on_departure(na_addr_t peer) override;
  [[noreturn]] LCI_COLD static void throw_closed();
  duty duty_here() const;
  /// Returns whether a call of this process to itself can be executed.
  LCI_COLD bool has_own_call(const duty& d);
  bool has_work(const duty& d) {
    if (d.calls == duty::none) return false;
    if (LCI_UNLIKELY(d.calls == duty::own)) return !ready_.is_empty() || has_own_call(d);
    return has_work() || (d.pool != nullptr && !d.pool->is_empty());
  }
  /// Returns whether the calling thread executes a function of this engine, perhaps below functions of other
  /// engines.
  bool is_on_stack() const;
  bool has_timers() const { return next_timer_.load(std::memory_order_relaxed) != INT64_MAX; }
  void expire_timers();
  void execute(incoming* in);
  void run_continuation(continuation* c);
  template <class F>
  void execute_here(F f);
  void shut_down();
  /// Decodes the headers of arrived calls and queues them for the threads of the pool; for threads that execute none.
  void read_calls();
  /// Ends calls, threads and the network. Called once, by shut_down().
  void end();
  bool drain(int64_t ns);
  void refuse_arrived();
  bool any_is_posting();
  template <class Taken>
  outgoing* take_call_and(Taken taken);

  na_class_t* na_ = nullptr;
  std::shared_ptr<mercury::lane> lane_;
  std::string url_;
  na_addr_t self_ = NA_ADDR_NULL;
  const uint64_t first_cookie_;
  lci::mpmc_array<outgoing*> by_number_;  // calls

  lci::biased_count users_;
  std::atomic<bool> closing_{false};
  std::mutex close_lock_;
  bool closed_ = false;
  std::atomic<bool> detached_{false};  // close() is about to finalize the network
  run_gate gate_;

  lci::spinlock functions_lock_;                                 // guards defining and declaring
  std::array<std::atomic<const local_function*>, 256> by_id_{};  // a hash table
  std::vector<std::unique_ptr<local_function>> local_;
  std::vector<std::unique_ptr<remote_function>> remote_;

  work_queue<incoming> unread_;   // calls whose headers have not been decoded
  work_queue<incoming> arrived_;  // calls that can be executed
  work_queue<continuation> ready_;

  std::mutex timers_lock_;
  std::multimap<int64_t, outgoing*> timers_;
  std::atomic<int64_t> next_timer_{INT64_MAX};

  template <class F>
  void for_each_call(F f) {
    calls.for_each([&f](outgoing& c) {
      if (!c.ref_if_used()) return;
      f(c);
      c.unref();
    });
  }

  const bool has_background_;
  const int pool_;
  std::thread background_;
  std::unique_ptr<workers> workers_;
};

int64_t now_ns();

/// A scope for code that frees or answers a call, also while close() runs. Such code uses the network only if
/// is_open(); otherwise close() has already released the network's resources.
class answer_scope {
 public:
  explicit answer_scope(engine_core& e) : core_(e), is_user_(!e.is_executing_here()), owned_(is_user_ && e.enter()) {}
  ~answer_scope() {
    if (is_user_) core_.leave(owned_);
  }
  answer_scope(const answer_scope&) = delete;
  answer_scope& operator=(const answer_scope&) = delete;
  bool is_open() const { return core_.has_network(); }

 private:
  engine_core& core_;
  const bool is_user_, owned_;
};

template <class Done>
bool engine_core::wait(int64_t limit_ns, Done done, const duty& d) {
  constexpr int most_between_polls = 64;  // functions
  if (done()) return true;
  const bool reads = d.calls == duty::none && pool_ > 0;
  const workers::nested here(d.pool != nullptr ? workers_.get() : nullptr);
  const int64_t end = limit_ns > 0 ? now_ns() + limit_ns : INT64_MAX;
  for (;;) {
    int64_t sleep = limit_ns == 0 ? 0 : longest_sleep_ns;
    if (limit_ns > 0) sleep = std::min(sleep, std::max<int64_t>(end - now_ns(), 0));
    const int64_t timer = next_timer_.load(std::memory_order_relaxed);
    if (LCI_UNLIKELY(timer != INT64_MAX)) sleep = std::min(sleep, std::max<int64_t>(timer - now_ns(), 0));
    mercury::deadline limit(static_cast<unsigned>((sleep + 999'999) / 1'000'000));
    lane_->wait(limit, [&] {
      return done() || has_work(d) || (reads && !unread_.is_empty()) ||
             next_timer_.load(std::memory_order_relaxed) < timer;
    });
    if (LCI_UNLIKELY(has_timers())) expire_timers();
    if (done()) return true;
    if (reads) read_calls();
    if (d.calls != duty::none && execute_one(d)) {
      for (int n = 1; !done(); ++n)
        if (limit_ns == 0 || n == most_between_polls || has_timers() || !execute_one(d)) break;
      if (done()) return true;
      if (limit_ns == 0) return false;
      continue;
    }
    if (limit_ns == 0 || (limit_ns > 0 && now_ns() >= end)) return done();
  }
}

}  // namespace lci::rpc::detail
