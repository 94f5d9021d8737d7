#include "tests/conformance/harness.hpp"

#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace conf {

thread_local rank_env* current = nullptr;
// The process's only rank, if it has one: for threads that did not call enter(), such as progress threads.
std::atomic<rank_env*> only{nullptr};

rank_env::rank_env(lci::runtime_t runtime, int my_rank, int n_ranks, control& ctl)
    : rt(runtime),
      device(lci::get_default_device_x().runtime(runtime)()),
      rank(my_rank),
      size(n_ranks),
      control_(ctl) {}

rank_env& rank_env::mine() { return current != nullptr ? *current : *only.load(std::memory_order_acquire); }
void rank_env::enter() { current = this; }

double rank_env::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void rank_env::fail(const char* file, int line, const std::string& text) {
  const char* name = std::strrchr(file, '/');
  std::lock_guard lock(mutex_);
  if (failures_.size() < 20)
    failures_.push_back("rank " + std::to_string(rank) + ": " + (name ? name + 1 : file) + ":" + std::to_string(line) +
                        ": " + text.substr(0, 300));
}

void rank_env::give_up(const char* what) {
  fail("harness", 0, std::string("waited in vain for ") + what);
  aborted_.store(true, std::memory_order_relaxed);
  throw test_aborted{};
}

void rank_env::progress(lci::device_t d) {
  if (!lci::progress_x().runtime(rt).device(d)().is_done()) sched_yield();
}

void rank_env::progress_all() {
  for (const auto d : own_devices_) lci::progress_x().runtime(rt).device(d)();
  progress(device);
}

std::vector<std::string> rank_env::exchange_text(const std::string& text, bool last) {
  const int seconds = static_cast<int>(timeout_s) * (last ? 2 : 1);
  try {
    return control_.exchange(text, last, seconds, [this, last] {
      if (last)
        sched_yield();  // the runtime may be unusable after a failure
      else
        progress_all();
    });
  } catch (const test_aborted&) {
    aborted_.store(true, std::memory_order_relaxed);
    throw;
  }
}

void rank_env::barrier_at_rest() {
  try {
    (void)control_.exchange({}, false, static_cast<int>(2 * timeout_s),
                            [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); });
  } catch (const test_aborted&) {
    aborted_.store(true, std::memory_order_relaxed);
    throw;
  }
}

void rank_env::parallel(int n, const std::function<void(int)>& f) {
  std::atomic<int> left{n};
  auto guarded = [&](int t) {
    enter();
    try {
      f(t);
      left.fetch_sub(1, std::memory_order_acq_rel);
      while (left.load(std::memory_order_acquire) > 0 && !aborted_.load(std::memory_order_relaxed)) progress_all();
    } catch (const test_aborted&) {
      aborted_.store(true, std::memory_order_relaxed);
    } catch (const std::exception& e) {
      fail("harness", 0, "thread " + std::to_string(t) + " threw: " + e.what());
      aborted_.store(true, std::memory_order_relaxed);
    }
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < n; ++t) threads.emplace_back(guarded, t);
  guarded(0);
  for (auto& t : threads) t.join();
  if (aborted_.load(std::memory_order_relaxed)) throw test_aborted{};
}

std::vector<lci::device_t> rank_env::devices(int threads, bool shared) {
  std::vector<lci::device_t> all(static_cast<size_t>(threads), device);
  if (!shared) {
    for (size_t t = 1; t < all.size(); ++t) {
      all[t] = lci::alloc_device_x().runtime(rt)();
      own_devices_.push_back(all[t]);
    }
    barrier();
  }
  return all;
}

void rank_env::end_test() {
  for (auto& d : own_devices_) lci::free_device_x(&d).runtime(rt)();
  own_devices_.clear();
}

std::string rank_env::findings() {
  std::lock_guard lock(mutex_);
  std::string all;
  for (const auto& f : failures_) all += f + "\n";
  return all.substr(0, 20'000);
}

namespace {

int environment_ranks() {
  const char* n = std::getenv("LCI_TEST_RANKS");
  return n ? std::atoi(n) : 0;
}

/// Runs one rank's part of a test and frees its runtime. Returns the findings of all ranks, each as
/// "number of checks \\n failures", and after them those of this rank's free_runtime, if it threw.
std::vector<std::string> run_rank(lci::runtime_t rt, int rank, int size, control& ctl,
                                  const std::function<void(rank_env&)>& body) {
  rank_env env(rt, rank, size, ctl);
  env.enter();
  if (!ranks_in_one_process()) only.store(&env, std::memory_order_release);
  try {
    env.barrier();
    body(env);
    env.barrier();
    env.end_test();
  } catch (const test_aborted&) {
  } catch (const std::exception& e) {
    env.fail("body", 0, std::string("threw: ") + e.what());
  }
  std::string text = std::to_string(env.checks()) + "\n" + env.findings();
  std::vector<std::string> all;
  try {
    all = env.exchange_text(text, true);
  } catch (const test_aborted&) {
    all = {text + "rank " + std::to_string(rank) + ": the other ranks did not end the test\n"};
  }
  try {
    lci::free_runtime(&rt);
  } catch (const std::exception& e) {
    all.push_back("0\nrank " + std::to_string(rank) + ": free_runtime threw: " + e.what() + "\n");
  }
  current = nullptr;
  return all;
}

/// Reports failures to Catch2. The first `exchanged` findings are known to all ranks, and rank 0 reports them; those
/// after them are known to this rank only, which reports them itself.
void assert_nothing_wrong(const std::vector<std::string>& findings, size_t exchanged) {
  std::string wrong;
  long checks = 0;
  const bool reports = lci_test::process_rank() == 0;
  for (size_t i = reports ? 0 : exchanged; i < findings.size(); ++i)
    if (const size_t end = findings[i].find('\n'); end != std::string::npos) wrong += findings[i].substr(end + 1);
  for (const auto& f : findings) checks += std::atol(f.c_str());
  if (!reports && !wrong.empty()) std::fprintf(stderr, "%s", wrong.c_str());
  INFO(wrong);
  CHECK(wrong.empty());
  CHECK(checks > 0);
}

void on_local_ranks(int size, const std::function<void(rank_env&)>& body) {
  auto controls = make_local_controls(size);
  std::vector<lci::runtime_t> runtimes;
  for (int r = 0; r < size; ++r) runtimes.push_back(lci::alloc_runtime());
  std::vector<std::vector<std::string>> findings(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    const auto i = static_cast<size_t>(r);
    threads.emplace_back([&, i, r] { findings[i] = run_rank(runtimes[i], r, size, *controls[i], body); });
  }
  for (auto& t : threads) t.join();
  for (size_t r = 1; r < findings.size(); ++r)  // findings made after the exchange
    for (size_t i = static_cast<size_t>(size); i < findings[r].size(); ++i) findings[0].push_back(findings[r][i]);
  assert_nothing_wrong(findings[0], static_cast<size_t>(size));
}

void on_process_ranks(const std::function<void(rank_env&)>& body) {
  auto rt = lci::alloc_runtime();
  const int rank = lci::get_rank_me(), size = lci::get_rank_n();
  static auto ctl = make_process_control(rank, size);
  assert_nothing_wrong(run_rank(rt, rank, size, *ctl, body), static_cast<size_t>(size));
}

}  // namespace

bool on_several_hosts() { return std::getenv("LCI_TEST_CONTROL") != nullptr; }
int rank_count() { return ranks_in_one_process() ? environment_ranks() : lci_test::process_count(); }
bool ranks_in_one_process() { return environment_ranks() > 0; }
namespace {

bool backend_is(const std::string& name) {
  const char* const backend = std::getenv("LCI_ATTR_BACKEND");
  return backend != nullptr && backend == name;
}

}  // namespace

bool over_libfabric() { return backend_is("ofi"); }
bool over_libibverbs() { return backend_is("ibv"); }

void on_ranks(const std::function<void(rank_env&)>& body, const tuner& tune) {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  if (ranks_in_one_process()) {
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = static_cast<size_t>(environment_ranks());
  }
  if (tune) tune(attr);
  lci::set_g_default_attr(attr);
  if (ranks_in_one_process())
    on_local_ranks(environment_ranks(), body);
  else
    on_process_ranks(body);
  lci::set_g_default_attr(before);
}

}  // namespace conf
