// Single calls of libibverbs fail on the fake card, one by one: LCI reports an error with a text, or recovers. No
// object of the card is left, and a runtime that starts afterwards works.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <catch2/catch.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "lci.hpp"
#include "network/ibv/library.hpp"
#include "tests/ibv/fake_verbs.hpp"
#include "tests/support/testing.hpp"

namespace {

fake_card& card() {
  static fake_card& loaded = [&]() -> fake_card& {
    REQUIRE(lci::network::ibv::library::get().missing.empty());
    auto* const get =
        reinterpret_cast<fake_card* (*)()>(dlsym(dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD), "fake_verbs_card"));
    REQUIRE(get != nullptr);  // otherwise LD_LIBRARY_PATH does not contain the fake library
    return *get();
  }();
  return loaded;
}

int alive(const fake_card& c) {
  return c.contexts + c.domains + c.threads + c.pairs + c.queues + c.channels + c.receive_queues + c.pinned +
         c.on_demand + c.whole;
}

/// The result of a fault: whether an error was reported, and its text.
struct outcome {
  bool reported = false;
  std::string text;
};

constexpr int timeout_s = 5;
constexpr int ends_tried = 3;  // free_runtime can be repeated if it was refused

struct no_leak_check {
#ifdef __SANITIZE_ADDRESS__
  no_leak_check() { __lsan_disable(); }
  ~no_leak_check() { __lsan_enable(); }
#else
  no_leak_check() {}
#endif
};

/// Allocates a runtime, sends messages to itself with all protocols, and frees it.
class conversation {
 public:
  outcome run() {
    lci::runtime_t rt;
    attempt([&] { rt = lci::alloc_runtime(); });
    if (result_.reported) return result_;
    {
      // Operations that were reported as failed may be in flight and keep their memory, which is no leak to report.
      const no_leak_check while_it_talks;
      attempt([&] { talk(rt); });
    }
    for (int i = 0; i < ends_tried && rt.p_impl != nullptr; ++i) attempt([&] { lci::free_runtime(&rt); });
    return result_;
  }

 private:
  /// Calls f() and records the errors that a failed call may cause; other exceptions fail the test.
  void attempt(const std::function<void()>& f) {
    try {
      f();
    } catch (const lci::resource_error& e) {
      tell(e.what());
    } catch (const lci::peer_failure_error& e) {
      tell(e.what());
    }
  }
  void tell(const std::string& what) {
    CHECK(what.size() > 12);
    if (!result_.reported) result_ = {true, what};
  }
  /// Makes progress until f() returns true or an error was reported.
  template <class F>
  void until(const char* what, F f) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s * lci_test::time_scale);
    while (!f() && !result_.reported) {
      attempt([&] { lci::progress_x().runtime(rt_)(); });
      INFO(what);
      REQUIRE(std::chrono::steady_clock::now() < end);
    }
  }
  template <class F>
  void operation(const char* what, lci::comp_t cq, F post) {
    lci::status_t s;
    until(what, [&] { return !(s = post()).is_retry(); });
    if (s.is_posted()) until(what, [&] { return !(s = lci::cq_pop_x(cq).runtime(rt_)()).is_retry(); });
    // If it failed, progress() throws the reason.
    if (!result_.reported && !s.is_done()) until(what, [] { return false; });
  }
  void talk(lci::runtime_t rt) {
    rt_ = rt;
    auto sent = lci::alloc_cq_x().runtime(rt)(), received = lci::alloc_cq_x().runtime(rt)();
    const auto to = lci::register_rcomp_x(received).runtime(rt)();
    for (const size_t size : {size_t{8}, size_t{2000}, size_t{300'000}}) {
      // Kept until the runtime was freed, as operations that were reported as failed may still be in flight.
      std::vector<char>&out = keep(size, 'x'), &there = keep(size, 0), &back = keep(size, 0);
      if (result_.reported) break;
      attempt([&] {
        operation("an active message", sent,
                  [&] { return lci::post_am_x(0, out.data(), size, sent, to).runtime(rt)(); });
        lci::status_t s;
        until("its arrival", [&] { return (s = lci::cq_pop_x(received).runtime(rt)()).is_done(); });
        if (!s.is_done()) return;
        CHECK(s.size == size);
        CHECK(std::memcmp(s.buffer, out.data(), size) == 0);
        std::free(s.buffer);
      });
      if (result_.reported) break;
      lci::mr_t mr;
      attempt([&] {
        mr = lci::register_memory_x(there.data(), size).runtime(rt)();
        const auto key = lci::get_rmr_x(mr).runtime(rt)();
        operation("a put", sent, [&] {
          return lci::post_put_x(0, out.data(), size, sent, 0, key)
              .comp_semantic(lci::comp_semantic_t::remote)
              .runtime(rt)();
        });
        if (!result_.reported) CHECK(there == out);
        operation("a get", sent, [&] { return lci::post_get_x(0, back.data(), size, sent, 0, key).runtime(rt)(); });
        if (!result_.reported) CHECK(back == out);
      });
      if (mr.p_impl != nullptr) attempt([&] { lci::deregister_memory_x(&mr).runtime(rt)(); });
    }
    if (result_.reported) return;  // operations may still signal these
    attempt([&] { lci::wait_drained_x().runtime(rt)(); });
    lci::deregister_rcomp_x(to).runtime(rt)();
    lci::free_comp_x(&sent).runtime(rt)();
    lci::free_comp_x(&received).runtime(rt)();
  }

  std::vector<char>& keep(size_t size, char content) { return buffers_.emplace_back(size, content); }

  lci::runtime_t rt_;
  std::deque<std::vector<char>> buffers_;
  outcome result_;
};

class with_backend {
 public:
  with_backend() : before_(lci::get_g_default_attr()) {
    lci::global_attr_t attr = before_;
    attr.backend = lci::attr_backend_t::ibv;
    attr.npackets = 512;
    attr.net_max_recvs = 64;
    lci::set_g_default_attr(attr);
  }
  ~with_backend() { lci::set_g_default_attr(before_); }

 private:
  const lci::global_attr_t before_;
};

enum class ends : uint8_t {
  either,    // LCI reports an error, or recovers
  well,      // LCI recovers
  reported,  // LCI reports an error
};

struct fault {
  const char* call;
  int error;
  ends how;
  int times = 1;
  bool leaves = false;  // objects that could not be destroyed remain
  bool of_receives = false;
};

constexpr int for_ever = 1 << 30;

constexpr fault faults[] = {
    {"get_device_list", ENOMEM, ends::reported},
    {"open_device", EMFILE, ends::reported},
    {"query_device", ENOMEM, ends::reported},
    {"query_device", EIO, ends::reported},
    {"query_port", EIO, ends::reported},
    {"query_device_ex", EIO, ends::well},
    {"alloc_pd", ENOMEM, ends::reported},
    {"alloc_td", ENOMEM, ends::well},
    {"alloc_parent_domain", ENOMEM, ends::well},
    {"create_comp_channel", EMFILE, ends::reported},
    {"create_cq", ENOMEM, ends::reported},
    {"create_srq", ENOMEM, ends::reported},
    {"create_qp", ENOMEM, ends::reported},
    {"create_qp", EINVAL, ends::well},  // repeated with less inline data
    {"modify_qp", EINVAL, ends::reported},
    {"modify_qp", ETIMEDOUT, ends::reported},
    {"reg_mr", ENOMEM, ends::either},
    {"reg_mr", EINVAL, ends::either},
    {"post_srq_recv", ENOMEM, ends::well},
    {"post_srq_recv", EINVAL, ends::reported},
    {"post_srq_recv", EIO, ends::reported, for_ever},
    {"post_send", ENOMEM, ends::well},
    {"post_send", EAGAIN, ends::well},
    {"post_send", EIO, ends::reported},
    {"post_send", EINVAL, ends::reported, for_ever},
    {"poll_cq", EIO, ends::reported},
    {"poll_cq", EIO, ends::reported, for_ever},
    {"completion", IBV_WC_RETRY_EXC_ERR, ends::reported},
    {"completion", IBV_WC_WR_FLUSH_ERR, ends::reported},
    {"completion", IBV_WC_REM_ACCESS_ERR, ends::reported},
    {"completion", IBV_WC_LOC_LEN_ERR, ends::reported, 1, false, true},
    {"completion", IBV_WC_WR_FLUSH_ERR, ends::reported, 1, false, true},
    {"req_notify_cq", ENOMEM, ends::well},
    {"dereg_mr", EBUSY, ends::well},
    {"dereg_mr", EBUSY, ends::well, for_ever, true},
    {"destroy_qp", EBUSY, ends::well},
    {"destroy_cq", EBUSY, ends::well},
    {"destroy_srq", EBUSY, ends::well},
    {"destroy_comp_channel", EBUSY, ends::well},
    {"dealloc_pd", EBUSY, ends::well},
    {"dealloc_td", EBUSY, ends::well},
};

/// Which of the calls 1..n fail, one in each run: all if n is small, else the first ones and a sample of the rest.
std::vector<int> sample(int n) {
  const int few = lci_test::long_runs() > 1 ? 200 : 4;
  std::vector<int> all;
  for (int i = 1; i <= n && i <= few; ++i) all.push_back(i);
  for (int i = 1; i <= few / 2 && n > few; ++i) all.push_back(few + (n - few) * i / (few / 2));
  return all;
}

std::string name_of(const fault& f, int n) {
  return std::string(f.call) + ":" + std::to_string(n) + (f.times > 1 ? "+" : "") + ":" + std::to_string(f.error) +
         (f.of_receives ? " of a receive" : "");
}

}  // namespace

TEST_CASE("every call of libibverbs may fail", "[ibv][faults]") {
  lci_test::time_limit(300);
  const with_backend defaults;
  fake_card& c = card();
  int tried = 0, reported = 0;
  for (const fault& f : faults) {
    c = fake_card();
    c.completions_of_receives = f.of_receives;
    REQUIRE(!conversation().run().reported);
    REQUIRE(alive(c) == 0);
    const int n_calls = c.calls[f.call];
    for (const int n : sample(n_calls)) {
      c = fake_card();
      c.failing = f.call;
      c.failing_from = n;
      c.failing_times = f.times;
      c.error = f.error;
      c.completions_of_receives = f.of_receives;
      INFO(name_of(f, n) << " of " << n_calls);
      const outcome result = conversation().run();
      INFO("reported: " << result.text);
      ++tried;
      reported += result.reported;
      // The number of polls differs between runs, so the call may not have happened.
      if (c.failed == 0) continue;
      if (f.how == ends::reported) CHECK(result.reported);
      if (f.how == ends::well) CHECK_FALSE(result.reported);
      if (!f.leaves) CHECK(alive(c) == 0);
    }
  }
  INFO(tried << " faults, " << reported << " reported");
  CHECK(tried > 40);
}

TEST_CASE("an operation ends although a handler throws while the failure of its peer is reported", "[ibv][faults]") {
  struct thrown_by_handler {};
  const with_backend defaults;
  fake_card& c = card();
  c = fake_card();
  lci::runtime_t rt = lci::alloc_runtime();
  auto handler = lci::alloc_handler_x([](lci::status_t) { throw thrown_by_handler(); }).runtime(rt)();
  auto sync = lci::alloc_sync_x().runtime(rt)();
  std::vector<char> out(300'000, 'x'), there(out.size());
  auto mr = lci::register_memory_x(there.data(), there.size()).runtime(rt)();
  // A send without a receive waits for an answer, which the failure ends.
  REQUIRE(lci::post_send_x(0, out.data(), out.size(), 1, handler).allow_retry(false).runtime(rt)().is_posted());
  for (int i = 0; i < 100; ++i) lci::progress_x().runtime(rt)();
  c.failing_from = c.calls["completion"] + 1;
  c.error = IBV_WC_RETRY_EXC_ERR;
  c.failing = "completion";
  lci::status_t put = lci::post_put_x(0, out.data(), out.size(), sync, 0, lci::get_rmr_x(mr).runtime(rt)())
                          .allow_retry(false)
                          .runtime(rt)();
  REQUIRE(put.is_posted());
  int thrown = 0;
  bool ended = false;
  for (int i = 0; i < 10'000 && !ended; ++i) {
    try {
      lci::progress_x().runtime(rt)();
    } catch (const thrown_by_handler&) {
      ++thrown;
    } catch (const lci::peer_failure_error&) {
      // Thrown once, for the rank itself.
    }
    ended = lci::sync_test_x(sync, &put).runtime(rt)();
  }
  CHECK(thrown == 1);
  REQUIRE(ended);
  CHECK(put.error == lci::errorcode_t::fatal);
  CHECK(lci::test_drained_x().runtime(rt)().is_done());
  lci::deregister_memory_x(&mr).runtime(rt)();
  lci::free_comp_x(&sync).runtime(rt)();
  lci::free_comp_x(&handler).runtime(rt)();
  lci::free_runtime(&rt);
  CHECK(alive(c) == 0);
}
