// Sends messages from rank 0 to rank 1 while calls fail, and checks the results of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include "tests/sweep/scene.hpp"

namespace sweep {

/// What a sender may conclude from the end of an operation.
enum class promise {
  buffer_is_free,  // if the message is lost at the target, the target must have got an error
  delivered,       // the message must not be lost at the target
};

/// Posts carry the number of their message as user context.
inline void* context_of(int i) { return reinterpret_cast<void*>(static_cast<intptr_t>(i)); }
inline int number_of(const lci::status_t& s) {
  const auto i = reinterpret_cast<intptr_t>(s.user_context);
  if (i < 0 || i >= n_messages) fail("an operation ends that was never posted");
  return static_cast<int>(i);
}

/// Rank 0 posts messages by `post(i)`, whose completion object is `sent`. Rank 1 calls `prepare()` first, and then
/// `arrive()` repeatedly, which records the arrived messages. With `late`, it calls prepare() after all posts.
template <class Post, class Prepare, class Arrive>
void flow(promise what, lci::comp_t sent, Post post, Prepare prepare, Arrive arrive, bool late = false) {
  auto& outcomes = page->outcomes;
  const auto at = [&](size_t end, int i) -> std::atomic<outcome>& { return outcomes[end][static_cast<size_t>(i)]; };
  const int sender = 0, receiver = n_ranks - 1;
  const auto mine = static_cast<size_t>(me);
  page->ended[mine].store(0);
  page->exceptions[mine].store(0);
  if (me == sender) page->posted.store(0);
  for (int i = 0; i < n_messages; ++i) {
    if (me == sender) at(0, i).store(outcome::none);
    if (me == receiver) at(1, i).store(outcome::none);
  }
  const int flow_number = page->flows[mine].fetch_add(1) + 1;
  int under_way = 0;
  const auto all_ended = [&] {
    for (lci::status_t s; !(s = lci::cq_pop(sent)).is_retry(); --under_way)
      at(0, number_of(s)).store(s.is_done() ? outcome::good : outcome::failed);
    return under_way == 0;
  };
  bool lost = false;
  try {
    meet();
    arm(me);
    if (me == receiver && !late) prepare();
    meet();
    if (me == sender) {
      for (int i = 0; i < n_messages; ++i) {
        lci::status_t s;
        bool refused = false;
        until("a post", [&] {
          refused = !attempt("post", [&] { s = post(i); });
          return refused || !s.is_retry();
        });
        if (refused)
          at(0, i).store(outcome::refused);
        else if (s.is_posted())
          ++under_way;
        else
          at(0, i).store(s.is_done() ? outcome::good : outcome::failed);
      }
      page->posted.store(1);
      until("all that was posted to end", all_ended);
      page->ended[0].store(1);
    }
    if (me == receiver) {
      if (late) {
        until("all to be posted", [&] { return page->posted.load() == 1; });
        for (int i = 0; i < 20; ++i) turn();
        prepare();
      }
      // An exception need not mean that a message is lost: over sockets it may still be on its way.
      using clock = std::chrono::steady_clock;
      constexpr std::chrono::milliseconds on_its_way{300};
      int missing_before = -1;
      clock::time_point since;
      until("all messages of the sender to arrive", [&] {
        arrive();
        if (page->ended[0].load() == 0) return false;
        int missing = 0;
        for (int i = 0; i < n_messages; ++i)
          missing += at(0, i).load() == outcome::good && at(1, i).load() == outcome::none;
        if (missing != std::exchange(missing_before, missing)) since = clock::now();
        return missing == 0 || is_broken() ||
               (what == promise::buffer_is_free && page->exceptions[1].load() >= missing &&
                clock::now() - since > on_its_way);
      });
      page->ended[1].store(1);
    }
    until("the other rank", [&] {
      if (me == receiver) arrive();
      return page->ended[0].load() == 1 && page->ended[static_cast<size_t>(receiver)].load() == 1;
    });
    // If the other rank knows of a failure, operations may be in flight here until it is reported to this rank.
    if (has_lost(peer())) until("the report of a failure that the other rank knows of", [] { return false; });
  } catch (const peer_lost&) {
    lost = true;
    if (me == sender) until("all that was posted to a failed peer to end", all_ended);
    page->posted.store(1);
    page->ended[mine].store(1);
    until("the other rank, after a peer failure", [&] {
      const bool all_is_posted = page->ended[0].load() == 1;
      if (me == receiver) arrive();
      return all_is_posted;
    });
  }
  disarm();
  if (me == receiver) arrive();  // by now the sender has stored all of its outcomes
  // A sender that lost this rank at the end of the scenario's first flow does not begin another one.
  if (me == receiver && page->flows[static_cast<size_t>(sender)].load() == flow_number)
    for (int i = 0; i < n_messages; ++i) {
      const outcome there = at(0, i).load(), here = at(1, i).load();
      if (there == outcome::refused && here == outcome::good) fail("message %d has arrived although its post threw", i);
      if (there == outcome::good && what == promise::delivered && here != outcome::good)
        fail("message %d was not delivered although its sender got that status", i);
    }
  if (lost) throw peer_lost();
  meet();
}

}  // namespace sweep
