// Runs the body of a test on every rank, on whatever fabric the program was started for.
//
// Started under a launcher, a process is one rank and uses the default fabric (or the one that
// LCI_ATTR_BACKEND names). Started with LCI_TEST_RANKS=N it plays N ranks itself, one thread each,
// over the sim fabric. A body is given its rank's rank_env and nothing else, must not share
// anything with other ranks, and collects what is wrong; the main thread of rank 0 asserts.
#pragma once

#include <catch2/catch.hpp>

#include <atomic>
#include <cstring>
#include <functional>
#include <lci.hpp>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/conformance/control.hpp"
#include "tests/support/testing.hpp"

namespace conf {

/// What a body sees of its rank. check(), fail(), progress(), until() and post() may be called by
/// all threads of the rank; the rest by one at a time.
class rank_env {
 public:
  rank_env(lci::runtime_t runtime, int my_rank, int n_ranks, control& ctl);

  const lci::runtime_t rt;
  const lci::device_t device;  ///< the runtime's default device
  const int rank, size;
  int right() const { return (rank + 1) % size; }
  int left() const { return (rank + size - 1) % size; }

  // Findings.
  void fail(const char* file, int line, const std::string& text);
  void count_check() { checks_.fetch_add(1, std::memory_order_relaxed); }

  // Making things happen.
  void progress() { progress(device); }
  void progress(lci::device_t d);
  void progress_all();  ///< of the default device and those made by devices()
  /// Makes progress until `done()`; when that takes too long, the rank gives up the test.
  template <class F>
  void until(const char* what, F&& done) {
    until(device, what, done);
  }
  template <class F>
  void until(lci::device_t d, const char* what, F&& done) {
    const double end = now() + timeout_s;
    while (!done()) {
      progress(d);
      if (aborted_.load(std::memory_order_relaxed)) throw test_aborted{};
      if (now() > end) give_up(what);
    }
  }
  /// Calls `f` (a post) until it doesn't say retry any more.
  template <class F>
  lci::status_t post(F&& f) {
    return post(device, f);
  }
  template <class F>
  lci::status_t post(lci::device_t d, F&& f) {
    lci::status_t s;
    until(d, "a post to be accepted", [&] { return !(s = f()).is_retry(); });
    return s;
  }

  /// All ranks arrive before any leaves. Makes progress on all devices meanwhile.
  void barrier() { exchange_text({}, false); }
  /// The same, but this rank makes none: it is to be found out what happens without.
  void barrier_at_rest();
  /// What each rank gave.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto texts =
        exchange_text(std::string(reinterpret_cast<const char*>(&mine), sizeof mine), false);
    std::vector<T> all(texts.size());
    for (size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], texts[i].data(), sizeof(T));
    return all;
  }

  /// Runs f(0) .. f(n-1) in n threads. The caller is thread 0. A thread whose f has returned goes
  /// on making progress on all devices until all have: peers may still depend on it.
  void parallel(int n, const std::function<void(int)>& f);
  /// One device a thread: the default one for all if `shared`, else new ones, which the
  /// destructor of the environment frees. The same on all ranks.
  std::vector<lci::device_t> devices(int threads, bool shared);

  /// The environment of the calling thread's rank, for handlers.
  static rank_env& mine();

  // For the harness.
  void enter();  ///< the calling thread now belongs to this rank
  std::vector<std::string> exchange_text(const std::string& mine, bool last);
  void end_test();
  std::string findings();
  long checks() const { return checks_.load(std::memory_order_relaxed); }

 private:
  static double now();
  static constexpr double timeout_s = 30.0 * lci_test::time_scale;
  [[noreturn]] void give_up(const char* what);

  control& control_;
  std::vector<lci::device_t> own_devices_;
  std::atomic<bool> aborted_{false};
  std::atomic<long> checks_{0};
  std::mutex mutex_;
  std::vector<std::string> failures_;  // under mutex_
};

/// Changes to attributes for one test; the same on all ranks.
using tuner = std::function<void(lci::global_attr_t&)>;

/// Runs `body` on all ranks, each with a fresh runtime. Asserts that it has checked something and
/// that nothing was wrong. Main thread only.
void on_ranks(const std::function<void(rank_env&)>& body, const tuner& tune = {});

/// How many ranks on_ranks() will run.
int rank_count();
/// Whether the ranks were told to meet over a network.
bool on_several_hosts();
/// Whether all ranks live in this process (the sim fabric).
bool ranks_in_one_process();
/// Whether libfabric carries the messages.
bool over_libfabric();
bool over_libibverbs();

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  if constexpr (std::is_enum_v<T>)
    out << static_cast<long>(value);
  else
    out << std::boolalpha << value;
  return out.str();
}
inline std::string shown(lci::error_t value) { return value.get_str(); }
inline std::string shown(lci::errorcode_t value) { return lci::get_errorcode_str(value); }

}  // namespace conf

/// The two checks of bodies. `env` must be in sight; they may stand in any thread.
#define EXPECT(condition)                                                     \
  do {                                                                        \
    env.count_check();                                                        \
    if (!(condition)) env.fail(__FILE__, __LINE__, "is false: " #condition);  \
  } while (false)

#define EXPECT_EQ(left, right)                                                         \
  do {                                                                                 \
    env.count_check();                                                                 \
    const auto l_ = (left);                                                            \
    const auto r_ = (right);                                                           \
    if (!(l_ == r_))                                                                   \
      env.fail(__FILE__, __LINE__,                                                     \
               #left " == " #right ": " + ::conf::shown(l_) + " / " + ::conf::shown(r_)); \
  } while (false)

/// `call` must throw invalid_argument_error with both words in its text.
#define EXPECT_INVALID(call, word1, word2)                                              \
  do {                                                                                  \
    env.count_check();                                                                  \
    try {                                                                               \
      (void)(call);                                                                     \
      env.fail(__FILE__, __LINE__, "does not throw: " #call);                           \
    } catch (const lci::invalid_argument_error& e_) {                                   \
      const std::string text_ = e_.what();                                              \
      if (text_.find(word1) == std::string::npos || text_.find(word2) == std::string::npos) \
        env.fail(__FILE__, __LINE__, "says neither/nor " + std::string(word1) + ", " +  \
                                         std::string(word2) + ": " + text_);            \
    } catch (const std::exception& e_) {                                                \
      env.fail(__FILE__, __LINE__, std::string("throws another type: ") + e_.what());   \
    }                                                                                   \
  } while (false)
