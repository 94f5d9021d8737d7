// What an engine owns.
#pragma once

#include <na.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lci/rpc.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/pool.hpp"
#include "lib/layers/na/direct.hpp"
#include "lib/layers/rpc/incoming.hpp"
#include "lib/layers/rpc/outgoing.hpp"
#include "lib/layers/rpc/work.hpp"

namespace lci::rpc::detail {

/// A function of this process. Never freed before the engine, so that calls refer to it.
struct local_function {
  std::string name;
  uint32_t name_hash;
  const signature_text* signature;
  where place;
  std::unique_ptr<handler> run;
};

/// Owned by the engine and by all that refer to it. Thread-safe. Between its constructor and close() it has a class of
/// NA and one context; afterwards entry() throws, and what refers to it does nothing.
class engine_core : public std::enable_shared_from_this<engine_core>, private na::direct_receiver {
 public:
  engine_core(const std::string& url, const options& o);
  ~engine_core();

  /// Starts what needs a shared_ptr.
  void start();
  void close();
  bool is_closed() const { return closing_.load(std::memory_order_acquire); }

  /// The network may be used in its scope. Throws lci::invalid_argument_error after the begin of close(), which waits
  /// for the end of all scopes.
  ///
  /// Why close() misses none: an entry counts itself, then looks whether the engine closes; close() says that it does,
  /// then looks at the count. All four are sequentially consistent.
  class entry {
   public:
    explicit entry(engine_core& e) : core_(e) {
      e.users_.fetch_add(1, std::memory_order_seq_cst);
      if (LCI_UNLIKELY(e.closing_.load(std::memory_order_seq_cst))) {
        e.users_.fetch_sub(1, std::memory_order_release);
        throw_closed();
      }
    }
    ~entry() { core_.users_.fetch_sub(1, std::memory_order_release); }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;

   private:
    engine_core& core_;
  };

  /// Counts a user of the network, also while the engine closes: what frees or answers.
  void enter() { users_.fetch_add(1, std::memory_order_seq_cst); }
  void leave() { users_.fetch_sub(1, std::memory_order_release); }
  /// The network exists; asked between enter() and leave().
  bool has_network() const { return !detached_.load(std::memory_order_seq_cst); }

  /// Waits until done(), and executes functions meanwhile, if this thread may. What makes done() true must happen in a
  /// callback of the network, in work that this engine executes, or before the call; otherwise it is noticed late.
  template <class Done>
  bool wait(int64_t limit_ns, Done done) {
    return wait(limit_ns, done, executes_here());
  }
  template <class Done>
  bool wait(int64_t limit_ns, Done done, bool executes);
  /// Waits for work, and executes some. Returns whether there was any.
  bool progress(int64_t ns);
  /// Executes at most one function or continuation. Returns whether there was one.
  bool execute_one();
  void run();
  void stop() { stops_.store(true, std::memory_order_release); }

  const remote_function& declare(const std::string& name, const signature_text& signature);
  void define(const std::string& name, const signature_text& signature, std::unique_ptr<handler> h, where w);
  const local_function* find(uint32_t id, uint32_t name_hash) const;

  /// The call can be executed.
  void arrived(incoming* in);
  void soon(continuation* c) { ready_.push(c); }
  bool has_work() const { return !ready_.is_empty() || !arrived_.is_empty() || !unread_.is_empty(); }

  /// Deadlines of calls that nobody waits for.
  void add_timer(outgoing& c, int64_t when_ns);
  void remove_timer(outgoing& c);

  /// A free call, or a new one.
  outgoing* take_call();
  uint64_t first_cookie() const { return first_cookie_; }
  /// A call has ended where no callback of the network tells it.
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
  uint64_t process = 0;  // a random number, by which the engine recognizes its own memory
  mercury::pool<outgoing> calls;
  mercury::pool<incoming> arrivals;
  std::atomic<uint32_t> operations{0};  // of the network, whose callbacks have not run

  // Memory that is exposed, by its number.
  std::mutex regions_lock;
  std::map<uint64_t, std::weak_ptr<region>> regions;
  std::set<region*> all_regions;
  uint64_t next_region = 1;

 private:
  void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) override;
  void on_departure(na_addr_t peer) override;
  [[noreturn]] LCI_COLD static void throw_closed();
  /// Whether this thread executes functions where it waits.
  bool executes_here() const;
  int64_t until_timer(int64_t ns);
  void expire_timers();
  void execute(incoming* in);
  /// Reads calls for threads of the pool, where this thread executes none.
  void read_calls();
  bool drain(int64_t ns);
  void refuse_arrived();

  na_class_t* na_ = nullptr;
  std::shared_ptr<mercury::lane> lane_;
  std::string url_;
  const uint64_t first_cookie_;
  lci::mpmc_array<outgoing*> by_number_;  // calls

  std::atomic<uint32_t> users_{0};
  std::atomic<bool> closing_{false};
  std::mutex close_lock_;
  bool closed_ = false;
  std::atomic<bool> detached_{false};  // the network is about to be left
  std::atomic<bool> stops_{false};

  mutable lci::spinlock functions_lock_;
  std::unordered_map<uint32_t, const local_function*> by_id_;
  std::vector<std::unique_ptr<local_function>> local_;
  std::vector<std::unique_ptr<remote_function>> remote_;

  work_queue<incoming> unread_;   // calls whose messages have not been read
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

/// What frees, or answers a call, works until the network is left, and does nothing afterwards.
class answer_scope {
 public:
  explicit answer_scope(engine_core& e) : core_(e) { e.enter(); }
  ~answer_scope() { core_.leave(); }
  answer_scope(const answer_scope&) = delete;
  answer_scope& operator=(const answer_scope&) = delete;
  bool is_open() const { return core_.has_network(); }

 private:
  engine_core& core_;
};

template <class Done>
bool engine_core::wait(int64_t limit_ns, Done done, bool executes) {
  // Long sleeps end now and then, to look at what no callback of the network notifies.
  constexpr int64_t slice_ns = 100'000'000;
  if (done()) return true;
  const bool reads = !executes && pool_ > 0;
  const int64_t end = limit_ns > 0 ? now_ns() + limit_ns : INT64_MAX;
  for (;;) {
    int64_t sleep = limit_ns == 0 ? 0 : slice_ns;
    if (limit_ns > 0) sleep = std::min(sleep, std::max<int64_t>(end - now_ns(), 0));
    sleep = until_timer(sleep);
    mercury::deadline limit(static_cast<unsigned>((sleep + 999'999) / 1'000'000));
    lane_->wait(limit, [&] { return done() || (executes && has_work()) || (reads && !unread_.is_empty()); });
    if (LCI_UNLIKELY(next_timer_.load(std::memory_order_relaxed) != INT64_MAX)) expire_timers();
    if (done()) return true;
    if (reads) read_calls();
    if (executes && execute_one()) {
      if (done()) return true;
      if (limit_ns == 0) return false;
      continue;
    }
    if (limit_ns == 0 || (limit_ns > 0 && now_ns() >= end)) return done();
  }
}

}  // namespace lci::rpc::detail
