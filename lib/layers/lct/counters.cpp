// Performance counters: an addition costs two or three locked instructions on a cache line that few threads share.
#include <lct.h>

#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace {

/// Sums are modulo 2^64: a sum that has wrapped below 0 is correct again when the missing ends have been added.
struct totals {
  uint64_t sum = 0, times = 0, open = 0;  // open: started and not ended
};

/// One counter: a sum in parts, so that not all threads write one cache line. Thread-safe, except for `points`. Orders
/// are relaxed except for timers: a counter publishes nothing but its own number.
class counter {
 public:
  counter(const char* name, LCT_pcounter_type_t type)
      : name_(name), type_(type), base_(static_cast<uint64_t>(LCT_now())) {}

  void add(uint64_t value) {
    part& p = mine();
    p.sum.fetch_add(value, std::memory_order_relaxed);
    p.times.fetch_add(1, std::memory_order_relaxed);
  }
  // A sum of durations is the sum of the ends minus the sum of the starts, so it does not matter which belong together.
  // Times are relative to the creation of the counter: a start whose count is not yet visible adds no larger error than
  // the time since then.
  void start(uint64_t time) {
    part& p = mine();
    p.starts_begun.fetch_add(1, std::memory_order_relaxed);
    p.sum.fetch_sub(time - base_, std::memory_order_release);  // R1
    p.starts.fetch_add(1, std::memory_order_release);          // R2
  }
  void end(uint64_t time) {
    part& p = mine();
    p.ends_begun.fetch_add(1, std::memory_order_relaxed);
    p.sum.fetch_add(time - base_, std::memory_order_release);  // R1
    p.ends.fetch_add(1, std::memory_order_release);            // R2
  }

  totals sum() const {
    totals all;
    for (const part& p : parts_) {
      totals t;
      // Bounded: a thread that is preempted in the middle of an update must not block this one.
      for (int looks = 0; !p.read(t) && looks < most_looks; ++looks) std::this_thread::yield();
      all.sum += t.sum;
      all.times += t.times;
      all.open += t.open;
    }
    return all;
  }

  /// The sum of a timer if all open intervals ended now.
  uint64_t sum_until(uint64_t now, const totals& t) const { return t.sum + t.open * (now - base_); }

  const std::string& name() const { return name_; }
  LCT_pcounter_type_t type() const { return type_; }

  struct point {
    LCT_time_t time;
    uint64_t sum;
  };
  std::vector<point> points;  // under the context's mutex

 private:
  struct alignas(lci::cache_line) part {
    std::atomic<uint64_t> sum{0}, times{0};  // `times` without those of a timer's ends
    // A timer's sum and its number of open intervals must be consistent: a reader detects concurrent updates by these.
    std::atomic<uint64_t> starts_begun{0}, starts{0}, ends_begun{0}, ends{0};

    /// Returns false if the values read may be inconsistent.
    bool read(totals& t) const {
      const uint64_t n_starts = starts.load(std::memory_order_acquire);  // A2: sees the updates that R2 ended
      const uint64_t n_ends = ends.load(std::memory_order_acquire);      // A2
      t.sum = sum.load(std::memory_order_acquire);                       // A1: a reader of R1 sees its `..._begun`
      t.times = times.load(std::memory_order_relaxed) + n_ends;
      t.open = n_starts - n_ends;
      return starts_begun.load(std::memory_order_relaxed) == n_starts &&
             ends_begun.load(std::memory_order_relaxed) == n_ends;
    }
  };
  static constexpr int most_looks = 1000;
  part& mine() { return parts_[static_cast<size_t>(LCT_get_thread_id()) % parts_.size()]; }

  const std::string name_;
  const LCT_pcounter_type_t type_;
  const uint64_t base_;         // creation time
  std::array<part, 16> parts_;  // 1 KiB per counter
};

class context : public lct::object<0x5bafb10c> {
 public:
  explicit context(const char* name) : name_(name != nullptr ? name : ""), begin_(LCT_now()) {}

  int add_counter(const char* function, const char* name, LCT_pcounter_type_t type) {
    std::lock_guard guard(mutex_);
    for (size_t i = 0; i < counters_.size(); ++i) {
      if (counters_[i]->name() != name) continue;
      if (counters_[i]->type() != type)
        lct::fail(function, "type = %d, but counter '%s' was registered with type %d", type, name,
                  counters_[i]->type());
      return static_cast<int>(i);
    }
    counters_.push_back(std::make_unique<counter>(name, type));
    try {
      found_.put(counters_.size() - 1, counters_.back().get());
    } catch (...) {
      counters_.pop_back();
      throw;
    }
    return static_cast<int>(counters_.size() - 1);
  }

  /// Returns null if there is none.
  counter* find(int index) const { return index < 0 ? nullptr : found_.get(static_cast<size_t>(index)); }

  void record() {
    std::lock_guard guard(mutex_);
    const LCT_time_t now = LCT_now();
    for (const auto& c : counters_)
      if (c->type() == LCT_PCOUNTER_TREND) c->points.push_back({now, c->sum().sum});
  }

  void dump(FILE* out) const {
    std::lock_guard guard(mutex_);
    for (const auto& c : counters_) {
      totals t = c->sum();
      t.sum = c->sum_until(static_cast<uint64_t>(LCT_now()), t);
      std::fprintf(out, "pcounter,%s,%d,%s,%s,%" PRId64 ",%" PRIu64 "\n", name_.c_str(), LCT_rank, c->name().c_str(),
                   type_name(c->type()), static_cast<int64_t>(t.sum), t.times);
      uint64_t before = 0;
      for (const counter::point& p : c->points) {
        std::fprintf(out, "trend,%s,%d,%s,%.6f,%" PRId64 "\n", name_.c_str(), LCT_rank, c->name().c_str(),
                     LCT_time_to_s(p.time - begin_), static_cast<int64_t>(p.sum - before));
        before = p.sum;
      }
    }
    std::fflush(out);
  }

 private:
  static const char* type_name(LCT_pcounter_type_t type) {
    return type == LCT_PCOUNTER_COUNTER ? "counter" : type == LCT_PCOUNTER_TREND ? "trend" : "timer";
  }

  const std::string name_;
  const LCT_time_t begin_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<counter>> counters_;  // under mutex_
  lci::mpmc_array<counter*> found_;                 // the same counters, for reads without a lock
};

constexpr const char* a_context = "a context of counters";

context& context_of(const char* function, LCT_pcounter_ctx_t ctx) {
  return lct::get<context>(function, a_context, ctx);
}

/// The counter of a handle; null for LCT_PCOUNTER_NONE, which counts nothing. Ends the process for an invalid handle.
counter* counter_of(const char* function, LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle, bool timer) {
  if (handle.type == LCT_PCOUNTER_NONE) return nullptr;
  counter* c = context_of(function, ctx).find(handle.idx);
  if (__builtin_expect(c == nullptr || c->type() != handle.type, 0))
    lct::fail(function, "the handle (type %d, idx %d) is of no counter of this context: register it here", handle.type,
              handle.idx);
  if (__builtin_expect(timer && handle.type != LCT_PCOUNTER_TIMER, 0))
    lct::fail(function, "'%s' is no timer: register it as LCT_PCOUNTER_TIMER", c->name().c_str());
  return c;
}

}  // namespace

LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* name) {
  return lct::or_null("LCT_pcounter_ctx_alloc", [&] { return new context(name); });
}
void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* ctx) { lct::release<context>("LCT_pcounter_ctx_free", a_context, ctx); }

LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t ctx, const char* name, LCT_pcounter_type_t type) {
  constexpr const char* me = "LCT_pcounter_register";
  context& c = context_of(me, ctx);
  lct::require(me, "name", name);
  if (type < LCT_PCOUNTER_NONE || type > LCT_PCOUNTER_TIMER)
    lct::fail(me, "type = %d, but must be one of LCT_pcounter_type_t", static_cast<int>(type));
  if (type == LCT_PCOUNTER_NONE) return {type, -1};
  return lct::or_fail(me, [&] { return LCT_pcounter_handle_t{type, c.add_counter(me, name, type)}; });
}

void LCT_pcounter_add(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle, int64_t value) {
  if (counter* c = counter_of("LCT_pcounter_add", ctx, handle, false)) c->add(static_cast<uint64_t>(value));
}
void LCT_pcounter_start(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle) {
  if (counter* c = counter_of("LCT_pcounter_start", ctx, handle, true)) c->start(static_cast<uint64_t>(LCT_now()));
}
void LCT_pcounter_end(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle) {
  if (counter* c = counter_of("LCT_pcounter_end", ctx, handle, true)) c->end(static_cast<uint64_t>(LCT_now()));
}
void LCT_pcounter_startt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle, LCT_time_t time) {
  if (counter* c = counter_of("LCT_pcounter_startt", ctx, handle, true)) c->start(static_cast<uint64_t>(time));
}
void LCT_pcounter_endt(LCT_pcounter_ctx_t ctx, LCT_pcounter_handle_t handle, LCT_time_t time) {
  if (counter* c = counter_of("LCT_pcounter_endt", ctx, handle, true)) c->end(static_cast<uint64_t>(time));
}

void LCT_pcounter_record(LCT_pcounter_ctx_t ctx) {
  context& c = context_of("LCT_pcounter_record", ctx);
  lct::or_fail("LCT_pcounter_record", [&] { c.record(); });
}
void LCT_pcounter_dump(LCT_pcounter_ctx_t ctx, FILE* out) {
  const context& c = context_of("LCT_pcounter_dump", ctx);
  lct::require("LCT_pcounter_dump", "out", out);
  lct::or_fail("LCT_pcounter_dump", [&] { c.dump(out); });
}
