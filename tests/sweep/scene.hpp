// What scenarios are made of: two ranks that try things while something fails, and look at what has become of them.
#pragma once

#include <exception>
#include <lci.hpp>

#include "tests/sweep/board.hpp"
#include "tests/sweep/faults.hpp"

namespace sweep {

extern int me, n_ranks;
extern board* page;
inline int peer() { return n_ranks == 1 ? 0 : 1 - me; }

/// With which a rank ends that can't start, or go on without its launcher, and says so; its launcher ends the others.
constexpr int told_code = 3;

/// Something is wrong: said, and the job ends badly.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// Thrown where a rank is told that its peer has failed, the first time: the scenario is over.
struct peer_lost {};
/// Set while that may happen: what is to fail breaks a connection.
extern bool may_lose_peer;
/// Whether it says so. Then the page knows, and nobody waits for this rank any more.
bool is_loss(const std::exception& e);
inline bool has_lost(int rank) { return page->lost[static_cast<size_t>(rank)].load() != 0; }

/// An exception of the library, at `where`. Wrong unless it is one that a failed call may become, with a text.
void accept(const char* where, const std::exception& e);

/// Whether f() has not thrown.
template <class F>
bool attempt(const char* what, F f) {
  try {
    f();
    return true;
  } catch (const std::exception& e) {
    accept(what, e);
    return false;
  }
}
/// f() until it does not throw: what has made it throw is over some time.
template <class F>
void insist(const char* what, F f) {
  for (int i = 0; i < 100; ++i)
    if (attempt(what, f)) return;
  fail("%s: fails for ever", what);
}

/// Whether a fault that may has cost the connection between the ranks: nothing more comes through then.
bool is_broken();

/// One round of progress; what it throws is counted on the page.
void turn();
/// Makes progress until f(). A test of a second's work that takes so much longer hangs.
constexpr int timeout_s = 5;  // seconds, times what this build takes
class deadline {
 public:
  deadline();
  bool is_over() const;

 private:
  double end_;
};
template <class F>
void until(const char* what, F f) {
  const deadline end;
  while (!f()) {
    turn();
    if (end.is_over()) fail("HUNG: %s", what);
  }
}
/// Waits until both ranks have come here, making progress.
void meet();

/// Of messages number 0 and up: their sizes cross all protocols.
constexpr int n_messages = 12;
size_t size_of(int i);
const char* content_of(int i);
char* buffer_for(int i);  // of n_messages, each as large as the largest
bool is_content(int i, const void* data, size_t size);

/// Sends a message of each protocol to the peer and receives as many; nothing may be amiss, unless is_broken().
void expect_health();
/// Nothing of the library below is left. After the runtime's end.
void expect_no_objects();

/// Both ranks are told that the other has failed, posts to it are refused, and nothing is under way for ever.
void expect_loss();

using scenario = void (*)();
/// Null if there is none of this name.
scenario find_scenario(const char* name);
void list_scenarios();

}  // namespace sweep
