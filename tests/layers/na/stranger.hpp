// Processes that connect to a class of NA by the core's functions, and respect none of NA's limits.
#pragma once

#include <sched.h>

#include <fstream>

#include "lib/layers/na/active_messages.hpp"
#include "lib/layers/na/introductions.hpp"
#include "tests/layers/na/processes.hpp"

namespace test {

using na::channel;
using na::introduction;

inline size_t resident_kib_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
  return 0;
}

/// A process that speaks the protocol by the core's functions.
class stranger {
 public:
  explicit stranger(const std::string& name)
      : runtime_(lci::alloc_runtime_x().bootstrap("none").max_peers(2)()),
        answers_(lci::alloc_cq_x().runtime(runtime_)()) {
    for (int i = 0; i < 4; ++i) lci::register_rcomp_x(answers_).runtime(runtime_)();  // those of `channel`
    server_ = lci::connect_x(name).runtime(runtime_)().rank;
    const pid_t own = getpid();
    question_.who.fill(7);
    std::memcpy(&question_.who, &own, sizeof own);
    std::strcpy(question_.name, "tcp://127.0.0.1:0/stranger");
  }
  ~stranger() {
    lci::free_comp_x(&answers_).runtime(runtime_)();
    lci::free_runtime(&runtime_);
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

  void introduce() {
    question_.what = introduction::kind::claim;
    question_.most_calls = 1;
    while (!send(channel::introductions, &question_, sizeof question_)) progress();
    const double end = test::now() + 30;
    lci::status_t s;
    while (!(s = lci::cq_pop_x(answers_).runtime(runtime_)()).is_done()) {
      REQUIRE(test::now() < end);
      progress();
    }
    introduction answer;
    REQUIRE(s.size == sizeof answer);
    std::memcpy(&answer, s.buffer, sizeof answer);
    std::free(s.buffer);
    REQUIRE(answer.what == introduction::kind::accepted);
  }
  /// Sends as often as possible until the server has disconnected this process. If it `reads`, it makes progress
  /// whenever there is no room. Otherwise only after sends have found no room for a while, to notice the disconnection.
  void send_until_disconnected(channel to, const void* bytes, size_t size, bool reads = true) {
    constexpr int long_without_room = 1000;
    const double end = test::now() + 60;
    try {
      for (int refused = 0; test::now() < end;) {
        if (send(to, bytes, size)) {
          refused = 0;
        } else if (reads) {
          progress();
          sched_yield();
        } else {
          usleep(100);
          if (++refused > long_without_room) progress();
        }
      }
    } catch (const lci::peer_failure_error&) {
      return;
    } catch (const lci::invalid_argument_error&) {  // the id is free already
      return;
    }
    REQUIRE(!"disconnected");
  }
  void change_identity_until_disconnected() {
    question_.who.fill(8);
    const double end = test::now() + 30;
    try {
      REQUIRE(send(channel::introductions, &question_, sizeof question_));
      while (send(channel::reports, "", 0)) {
        REQUIRE(test::now() < end);
        progress();
        usleep(1000);
      }
    } catch (const lci::peer_failure_error&) {
      return;
    } catch (const lci::invalid_argument_error&) {
      return;
    }
    REQUIRE(!"disconnected");
  }
  void ask_without_end() {
    question_.what = introduction::kind::who_are_you;
    send_until_disconnected(channel::introductions, &question_, sizeof question_, false);
  }

 private:
  bool send(channel to, const void* bytes, size_t size) {
    return !lci::post_am_x(server_, const_cast<void*>(bytes), size, lci::COMP_NULL_RETRY, static_cast<lci::rcomp_t>(to))
                .runtime(runtime_)()
                .is_retry();
  }
  void progress() { lci::progress_x().runtime(runtime_)(); }

  lci::runtime_t runtime_;
  lci::comp_t answers_;
  int server_ = -1;
  introduction question_;
};

}  // namespace test
