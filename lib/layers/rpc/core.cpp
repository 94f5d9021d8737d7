#include "lib/layers/rpc/core.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <random>

#include "lib/layers/mercury/functions.hpp"
#include "lib/layers/rpc/region.hpp"

namespace lci::rpc::detail {
namespace {

constexpr int64_t drain_ns = 10'000'000'000;  // then close() ends the connections with peers that do not read

/// An entry of the list of functions and continuations that a thread is executing, each inside the one before.
struct execution {
  const engine_core* engine;
  const execution* outer;
};
/// The engine whose background thread or pool thread this is, and the functions that are nested on its stack.
struct this_thread {
  const engine_core* works_for = nullptr;
  bool is_of_pool = false;
  int depth = 0;
  const execution* innermost = nullptr;
};
constinit thread_local this_thread current __attribute__((tls_model("initial-exec")));
/// A function that waits for a call executes other functions meanwhile. This bounds the nesting, and so the stack.
constexpr int deepest = 32;

uint64_t random_number() {
  std::random_device source;
  return (uint64_t{source()} << 32 | source()) | 1;
}

uint64_t new_cookie() {
  // An earlier process at this address used other numbers, so this process ignores late responses to it.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) << 12 | 1;
}

na_class_t* open(const std::string& url, bool listens) {
  if (url != "self" && url.find("://") == std::string::npos)
    throw invalid_argument_error("rpc::engine: \"" + url + "\" is no URL: pass for example \"tcp://127.0.0.1\"");
  na_class_t* const na = NA_Initialize(url.c_str(), listens ? NA_TRUE : NA_FALSE);
  if (na == nullptr && errno == EINVAL)
    throw invalid_argument_error("rpc::engine: \"" + url + "\" is refused: a line on standard error says why");
  if (na == nullptr)
    throw resource_error("rpc::engine: can't join the network of \"" + url + "\": a line on standard error says why");
  return na;
}

}  // namespace

int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

engine_core::engine_core(const std::string& url, const options& o)
    : largest(o.largest()),
      process(random_number()),
      na_(open(url, o.listens())),
      first_cookie_(new_cookie()),
      has_background_(o.has_background()),
      pool_(o.pool()) {
  lane_ = mercury::lane::open(na_);
  if (lane_ == nullptr) {
    NA_Finalize(na_);
    throw resource_error("rpc::engine: the network has no further context");
  }
  fetched = std::make_unique<mercury::fetch_budget>(std::max<uint64_t>(NA_Direct_call_bytes(na_), largest));
  largest_request = std::min<size_t>(NA_Msg_get_max_unexpected_size(na_), mercury::largest_message);
  largest_response = std::min<size_t>(NA_Msg_get_max_expected_size(na_), mercury::largest_message);
  char text[NA_MAX_ADDR_LEN] = "";
  na_addr_t self = NA_ADDR_NULL;
  NA_Addr_self(na_, &self);
  NA_Addr_to_string(na_, text, sizeof text, self);
  NA_Addr_free(na_, self);
  self_ = self;  // an address owns no memory
  url_ = text;
}

void engine_core::start() {
  if (pool_ > 0)
    workers_ = std::make_unique<workers>(pool_, [this](incoming* in) {
      current.works_for = this;
      current.is_of_pool = true;
      execute(in);
    });
  NA_Direct_open(na_, context(), this);
  if (!has_background_) return;
  background_ = start_thread([this] {
    current.works_for = this;
    wait(no_limit, [this] { return is_closed(); });  // end() joins this thread before it ends the network
  });
}

// It does not call close(), which throws in functions of this engine: such a function may free the last future.
engine_core::~engine_core() { shut_down(); }

void engine_core::throw_closed() {
  throw invalid_argument_error("rpc: the engine was closed: nothing can be called by it, or executed");
}

void engine_core::run() {
  // No `entry`, whose exception needs memory: if the engine is closed, run() only returns.
  const answer_scope use(*this);
  if (closing_.load(std::memory_order_seq_cst)) return;
  uint32_t round = 0;
  if (!gate_.enter(&round)) return;
  wait(no_limit, [&] { return gate_.is_ended(round) || is_closed(); });
  gate_.leave(round);
}

engine_core::duty engine_core::duty_here() const {
  duty d;
  if (current.works_for == this && current.is_of_pool) d.pool = &workers_->waiting();
  if (has_background_ && current.works_for != this) return d;
  d.calls = LCI_LIKELY(current.depth < deepest) ? duty::all : duty::own;
  return d;
}

template <class F>
void engine_core::execute_here(F f) {
  this_thread& here = current;
  const execution mine{this, here.innermost};
  here.innermost = &mine;
  ++here.depth;
  f();
  --here.depth;
  here.innermost = mine.outer;
}

void engine_core::run_continuation(continuation* c) {
  execute_here([c] { c->run(c); });
}

void engine_core::execute(incoming* in) {
  execute_here([in] { in->called->run->execute(in); });
}

bool engine_core::has_own_call(const duty& d) {
  const auto is_own = [this](const incoming& in) { return in.source == self_; };
  return arrived_.has(is_own) || unread_.has(is_own) || (d.pool != nullptr && d.pool->has(is_own));
}

bool engine_core::execute_one(const duty& d) {
  if (continuation* const c = ready_.pop(); c != nullptr) {
    run_continuation(c);
    return true;
  }
  const auto next_of = [&](work_queue<incoming>& queue) {
    if (LCI_LIKELY(d.calls == duty::all)) return queue.pop();
    return queue.pop_if([this](const incoming& in) { return in.source == self_; });
  };
  incoming* ready = next_of(arrived_);
  if (ready == nullptr && d.pool != nullptr) ready = next_of(*d.pool);
  if (ready != nullptr) {
    execute(ready);
    return true;
  }
  incoming* const in = next_of(unread_);
  if (in == nullptr) return false;
  if (!in->accept()) return true;
  in->called->place == where::pool ? arrived(in) : execute(in);
  return true;
}

bool engine_core::is_executing_here() const {
  return current.innermost != nullptr && current.innermost->engine == this;
}

bool engine_core::is_on_stack() const {
  if (current.works_for == this) return true;
  for (const execution* e = current.innermost; e != nullptr; e = e->outer)
    if (e->engine == this) return true;
  return false;
}

void engine_core::arrived(incoming* in) {
  if (in->called->place != where::pool || workers_ == nullptr) return arrived_.push(in);
  if (workers_->push(in)) wake();
}

const remote_function& engine_core::declare(const std::string& name, const signature_text& signature) {
  std::lock_guard guard(functions_lock_);
  for (const auto& f : remote_)
    if (f->name == name && f->signature->hash == signature.hash) return *f;
  auto made = std::make_unique<remote_function>();
  made->name = name;
  made->id = mercury::function_table::id_of(name.c_str());
  made->name_hash = mercury::function_table::hash_of(name.c_str());
  made->signature = &signature;
  remote_.push_back(std::move(made));
  return *remote_.back();
}

void engine_core::define(const std::string& name, const signature_text& signature, std::unique_ptr<handler> h,
                         where w) {
  if (w == where::pool && workers_ == nullptr)
    throw invalid_argument_error("rpc::engine::define(\"" + name +
                                 "\"): where::pool, but the engine has no pool: pass options().pool(n) to it");
  auto made = std::make_unique<local_function>();
  made->name = name;
  made->name_hash = mercury::function_table::hash_of(name.c_str());
  made->signature = &signature;
  made->place = w;
  made->run = std::move(h);
  made->id = mercury::function_table::id_of(name.c_str());
  const std::lock_guard guard(functions_lock_);
  const local_function* const found = find(made->id);
  if (found != nullptr && found->name != name)
    throw invalid_argument_error("rpc::engine::define(\"" + name + "\"): \"" + found->name +
                                 "\" has the same id: rename one of them");
  std::atomic<const local_function*>& first = by_id_[made->id % by_id_.size()];
  made->next = first.load(std::memory_order_relaxed);
  local_.push_back(std::move(made));
  first.store(local_.back().get(), std::memory_order_release);  // R2
}

void engine_core::add_timer(outgoing& c, int64_t when_ns) {
  {
    std::lock_guard guard(timers_lock_);
    c.timer = timers_.emplace(when_ns, &c);
    c.has_timer.store(true, std::memory_order_relaxed);
    if (timers_.begin()->second != &c) return;
    next_timer_.store(when_ns, std::memory_order_relaxed);
  }
  // A later one is seen when the present sleep of a waiting thread ends.
  if (when_ns - now_ns() < longest_sleep_ns) wake();
}

void engine_core::remove_timer(outgoing& c) {
  std::lock_guard guard(timers_lock_);
  if (!c.has_timer.load(std::memory_order_relaxed)) return;
  timers_.erase(c.timer);
  c.has_timer.store(false, std::memory_order_relaxed);
  next_timer_.store(timers_.empty() ? INT64_MAX : timers_.begin()->first, std::memory_order_relaxed);
}

void engine_core::expire_timers() {
  const int64_t now = now_ns();
  for (;;) {
    outgoing* c = nullptr;
    {
      std::lock_guard guard(timers_lock_);
      if (timers_.empty() || timers_.begin()->first > now) return;
      c = timers_.begin()->second;
      timers_.erase(timers_.begin());
      c->ref();
      // R1: pairs with A1, so a thread that then releases the call sees the reference. One that finds `true` there
      // waits for the lock before the call can be reused.
      c->has_timer.store(false, std::memory_order_release);
      next_timer_.store(timers_.empty() ? INT64_MAX : timers_.begin()->first, std::memory_order_relaxed);
    }
    c->give_up(outcome::timed_out);
    c->unref();
  }
}

bool engine_core::progress(int64_t ns) {
  const auto has_any = [this] { return has_work(); };
  wait(ns, has_any, {});
  duty all = duty_here();
  all.calls = duty::all;
  constexpr int at_once = 64;
  int n = 0;
  while (n < at_once && execute_one(all)) ++n;
  return n > 0;
}

void engine_core::refuse_arrived() {
  while (incoming* const in = unread_.pop())
    if (in->accept()) arrived_.push(in);
  for (work_queue<incoming>* queue : {&arrived_, workers_ != nullptr ? &workers_->waiting() : nullptr})
    while (incoming* const in = queue != nullptr ? queue->pop() : nullptr) {
      in->answer_code(HG_FAIL);
      in->unref();
    }
}

bool engine_core::any_is_posting() {
  bool any = false;
  calls.for_each([&any](const outgoing& c) { any |= c.is_posting(); });
  return any;
}

bool engine_core::drain(int64_t ns) {
  const int64_t end = now_ns() + ns;
  for (;;) {
    refuse_arrived();
    while (continuation* const c = ready_.pop()) run_continuation(c);
    // Also of calls without references: another thread may be freeing them.
    calls.for_each([](outgoing& c) { c.detach(); });
    const auto is_quiet = [this] { return operations.load(std::memory_order_acquire) == 0; };
    const bool was_quiet = lane_->wait(1, is_quiet);
    if (was_quiet && !has_work() && (workers_ == nullptr || workers_->waiting().is_empty())) return true;
    if (now_ns() >= end) return false;
  }
}

void engine_core::close() {
  if (is_on_stack()) throw invalid_argument_error("rpc::engine::close: called in a function that the engine executes");
  shut_down();
}

void engine_core::close_later() {
  try {
    start_thread([core = shared_from_this()] { core->shut_down(); }).detach();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rpc::engine: it can't end: %s\n", e.what());
    static_cast<void>(new std::shared_ptr(shared_from_this()));  // the function still uses it
  }
}

void engine_core::shut_down() {
  {
    std::lock_guard guard(close_lock_);
    if (closed_) return;
    end();
    closed_ = true;
  }
  // No thread executes functions any more. They may own functions and peers of this engine, which own this object: so
  // they are freed here, not by the destructor.
  for (const auto& f : local_) f->run.reset();
}

void engine_core::end() {
  closing_.store(true, std::memory_order_seq_cst);
  users_.order_end();
  const auto end_calls = [this] {
    for_each_call([](outgoing& c) { c.give_up(outcome::closed); });
    wake();  // Threads in run() and the background thread wait for no call.
  };
  end_calls();
  if (background_.joinable()) background_.join();
  while (!users_.is_zero() || any_is_posting()) {
    end_calls();
    lane_->poll();
    lane_->wait(1, [] { return false; });
  }
  end_calls();                                // those that were posted after their thread was counted
  if (workers_ != nullptr) workers_->stop();  // not freed, as a peer may leave meanwhile
  bool is_quiet = drain(drain_ns);
  if (!is_quiet) {
    NA_Direct_end_peers(na_, context());
    is_quiet = drain(drain_ns);
  }
  NA_Direct_close(na_);
  while (continuation* const c = ready_.pop()) run_continuation(c);
  // After this store no thread begins to use the network.
  detached_.store(true, std::memory_order_seq_cst);
  users_.order_end();
  while (!users_.is_zero()) std::this_thread::yield();
  arrivals.for_each([](incoming& in) { in.detach(); });
  {
    std::lock_guard regions_guard(regions_lock);
    for (region* r : all_regions) r->close();
  }
  if (!is_quiet) {
    // The network may still use these calls, so they are never freed.
    arrivals.abandon();
    calls.abandon();
  }
  lane_.reset();
  NA_Finalize(na_);
  na_ = nullptr;
}

}  // namespace lci::rpc::detail
