// Runs the body of a test on every rank.
//
// Under a launcher, a process is one rank, and uses the network that LCI_ATTR_BACKEND names or the default one. With
// LCI_TEST_RANKS=N in the environment, a process runs N ranks, one thread each, over the simulated network. The body
// gets the rank_env of its rank, and must share nothing with other ranks. Failed checks are recorded there; the main
// thread of rank 0 reports those of all ranks to Catch2.
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

/// A rank, for the body of a test. on_ranks() owns it. All threads of the rank may call fail(), count_check(),
/// progress(), until() and post() concurrently; the other functions may be called by one thread at a time.
class rank_env {
 public:
  rank_env(lci::runtime_t runtime, int my_rank, int n_ranks, control& ctl);

  const lci::runtime_t rt;
  const lci::device_t device;  ///< the runtime's default device
  const int rank, size;
  int right() const { return (rank + 1) % size; }
  int left() const { return (rank + size - 1) % size; }

  // Results of checks.
  void fail(const char* file, int line, const std::string& text);
  void count_check() { checks_.fetch_add(1, std::memory_order_relaxed); }

  // Progress and posts.
  void progress() { progress(device); }
  void progress(lci::device_t d);
  void progress_all();  ///< makes progress on the default device and those made by devices()
  /// Makes progress until `done()` returns true; after timeout_s seconds the rank abandons the test.
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
  /// Calls `f` (a post) until it no longer returns retry.
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

  /// A barrier of all ranks, which makes progress on all devices.
  void barrier() { exchange_text({}, false); }
  /// A barrier in which this rank makes no progress: it waits outside of LCI.
  void barrier_at_rest();
  /// Returns the values that the ranks have passed as `mine`, by rank.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto texts = exchange_text(std::string(reinterpret_cast<const char*>(&mine), sizeof mine), false);
    std::vector<T> all(texts.size());
    for (size_t i = 0; i < all.size(); ++i) std::memcpy(&all[i], texts[i].data(), sizeof(T));
    return all;
  }

  /// Runs f(0) .. f(n-1) in n threads. The caller is thread 0. A thread whose f has returned makes progress on all
  /// devices until f has returned in all threads: other ranks may still need that progress.
  void parallel(int n, const std::function<void(int)>& f);
  /// One device for each thread: the default device for all if `shared`, else for thread 0 only, and new devices for
  /// the others, which end_test() frees. Called by all ranks with the same arguments.
  std::vector<lci::device_t> devices(int threads, bool shared);

  /// The rank_env of the calling thread's rank, for handlers, which get no argument of their own.
  static rank_env& mine();

  static double now();                                              ///< seconds, by a clock that never goes back
  static constexpr double timeout_s = 30.0 * lci_test::time_scale;  ///< how long a rank waits for others, in seconds

  // For the harness.
  void enter();  ///< from now on mine() returns this object in the calling thread
  std::vector<std::string> exchange_text(const std::string& mine, bool last);
  void end_test();
  std::string findings();
  long checks() const { return checks_.load(std::memory_order_relaxed); }

 private:
  [[noreturn]] void give_up(const char* what);

  control& control_;
  std::vector<lci::device_t> own_devices_;
  std::atomic<bool> aborted_{false};
  std::atomic<long> checks_{0};
  std::mutex mutex_;
  std::vector<std::string> failures_;  // under mutex_
};

/// Changes attributes for one test; the same on all ranks.
using tuner = std::function<void(lci::global_attr_t&)>;

/// Runs `body` on all ranks, each with a new runtime. The test case fails if a check failed, or if no check was
/// made. Main thread only.
void on_ranks(const std::function<void(rank_env&)>& body, const tuner& tune = {});

/// How many ranks on_ranks() will run.
int rank_count();
/// Returns whether LCI_TEST_CONTROL is set, since the ranks run on several hosts: they have no common memory and clock.
bool on_several_hosts();
/// Returns whether all ranks are threads of this process, over the simulated network.
bool ranks_in_one_process();
/// Returns whether libfabric carries the messages.
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

/// The checks of bodies. A variable `env`, the rank's rank_env, must be in scope. Any thread may use them.
#define EXPECT(condition)                                                    \
  do {                                                                       \
    env.count_check();                                                       \
    if (!(condition)) env.fail(__FILE__, __LINE__, "is false: " #condition); \
  } while (false)

#define EXPECT_EQ(left, right)                                                                                \
  do {                                                                                                        \
    env.count_check();                                                                                        \
    const auto l_ = (left);                                                                                   \
    const auto r_ = (right);                                                                                  \
    if (!(l_ == r_))                                                                                          \
      env.fail(__FILE__, __LINE__, #left " == " #right ": " + ::conf::shown(l_) + " / " + ::conf::shown(r_)); \
  } while (false)

/// `call` must throw invalid_argument_error, and its message must contain both words.
#define EXPECT_INVALID(call, word1, word2)                                                             \
  do {                                                                                                 \
    env.count_check();                                                                                 \
    try {                                                                                              \
      (void)(call);                                                                                    \
      env.fail(__FILE__, __LINE__, "does not throw: " #call);                                          \
    } catch (const lci::invalid_argument_error& e_) {                                                  \
      const std::string text_ = e_.what();                                                             \
      if (text_.find(word1) == std::string::npos || text_.find(word2) == std::string::npos)            \
        env.fail(__FILE__, __LINE__,                                                                   \
                 "says neither/nor " + std::string(word1) + ", " + std::string(word2) + ": " + text_); \
    } catch (const std::exception& e_) {                                                               \
      env.fail(__FILE__, __LINE__, std::string("throws another type: ") + e_.what());                  \
    }                                                                                                  \
  } while (false)
