#include "tests/sweep/scene.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace sweep {

bool may_lose_peer = false;

bool is_loss(const std::exception& e) {
  const auto* failure = dynamic_cast<const lci::peer_failure_error*>(&e);
  if (failure == nullptr || !may_lose_peer) return false;
  if (failure->failed_rank() != peer())
    fail("the failure of rank %d is reported as: %s", failure->failed_rank(), e.what());
  return true;
}

void accept(const char* where, const std::exception& e) {
  const pause here;
  std::fprintf(stderr, "rank %d: %s threw: %s\n", me, where, e.what());
  // An error must have a fault as its cause; a fault at the peer may cause an error here, too.
  const bool typed = dynamic_cast<const lci::resource_error*>(&e) != nullptr ||
                     dynamic_cast<const lci::bootstrap_error*>(&e) != nullptr ||
                     dynamic_cast<const lci::peer_failure_error*>(&e) != nullptr;
  if (!typed) fail("%s threw what is not an error of a resource, of the start or of a peer: %s", where, e.what());
  if (std::strlen(e.what()) < 12) fail("%s threw without a text: %s", where, e.what());
  if (may_cost_peers() && dynamic_cast<const lci::peer_failure_error*>(&e) != nullptr) page->broken.store(1);
  if (may_lose_peer && dynamic_cast<const lci::bootstrap_error*>(&e) != nullptr) {
    std::fprintf(stderr, "rank %d: has lost its launcher, without which no collective setup is possible\n", me);
    std::fflush(nullptr);
    _exit(reported_code);
  }
  if (is_loss(e) && page->lost[static_cast<size_t>(me)].exchange(1) == 0) throw peer_lost();
}

bool is_broken() { return page->broken.load() != 0; }

constexpr int exceptions_of_a_broken_network = 50;

// Counts exceptions in the shared memory.
void turn() {
  try {
    if (!lci::progress().is_done()) sched_yield();
  } catch (const std::exception& e) {
    accept("progress", e);
    const int exceptions = page->exceptions[static_cast<size_t>(me)].fetch_add(1) + 1;
    // A real program would have given up by now.
    if (exceptions >= exceptions_of_a_broken_network && may_cost_peers()) disarm(), page->broken.store(1);
  }
}

void meet() {
  if (n_ranks == 1) return;
  const int mine = page->arrived[static_cast<size_t>(me)].fetch_add(1) + 1;
  until("the peer to reach the same point",
        [&] { return page->arrived[static_cast<size_t>(peer())].load() >= mine || is_broken(); });
}

namespace {

constexpr std::array<size_t, n_messages> sizes = {8, 1000, 5000, 20000, 100000, 1200000, 0, 3000, 8, 70000, 300000, 16};
constexpr size_t largest = 1200000 + 64;  // some more bytes than the largest message

std::unique_ptr<char[]> make_contents() {
  std::unique_ptr<char[]> all(new char[n_messages * largest]);
  for (int i = 0; i < n_messages; ++i) std::memset(all.get() + static_cast<size_t>(i) * largest, 'a' + i, largest);
  return all;
}

}  // namespace

size_t size_of(int i) { return sizes[static_cast<size_t>(i)]; }
const char* content_of(int i) {
  static const std::unique_ptr<char[]> contents = make_contents();
  return contents.get() + static_cast<size_t>(i) * largest;
}
char* buffer_for(int i) {
  static const std::unique_ptr<char[]> buffers(new char[n_messages * largest]);
  return buffers.get() + static_cast<size_t>(i) * largest;
}
bool is_content(int i, const void* data, size_t size) {
  return size == size_of(i) && (size == 0 || std::memcmp(data, content_of(i), size) == 0);
}

void expect_no_objects() {
  if (objects() != 0 && !may_cost_peers()) fail("%d objects of the network's library are left", objects());
}

void expect_health() {
  if (is_broken()) return;
  const lci::tag_t base = 1000;
  lci::comp_t received = lci::alloc_cq(), sent = lci::alloc_cq();
  for (int i = 0; i < n_messages; ++i) {
    std::memset(buffer_for(i), 0, size_of(i));
    if (!lci::post_recv_x(peer(), buffer_for(i), size_of(i), base + static_cast<lci::tag_t>(i), received)
             .allow_done(false)()
             .is_posted())
      fail("afterwards a receive is not posted");
  }
  meet();
  int to_end = 0, to_come = n_messages;
  for (int i = 0; i < n_messages; ++i) {
    lci::status_t s;
    until("afterwards, a send", [&] {
      s = lci::post_send_x(peer(), content_of(i), size_of(i), base + static_cast<lci::tag_t>(i), sent)();
      return !s.is_retry() || is_broken();
    });
    to_end += s.is_posted() ? 1 : 0;
  }
  until("afterwards, messages", [&] {
    for (lci::status_t s; (s = lci::cq_pop(sent)).is_done();) --to_end;
    for (lci::status_t s; !(s = lci::cq_pop(received)).is_retry();) {
      --to_come;
      if (!s.is_done() && may_cost_peers()) continue;  // progress() will throw the reason
      if (!s.is_done() || !is_content(static_cast<int>(s.tag - base), s.buffer, s.size))
        fail("afterwards message %d arrives with error %d, size %zu", static_cast<int>(s.tag - base),
             static_cast<int>(s.error.errorcode), s.size);
    }
    return (to_end == 0 && to_come == 0) || is_broken();
  });
  // Also after faults, the device must become drained.
  until("afterwards, the device to be drained",
        [] { return lci::test_drained_x().receives(false)().is_done() || is_broken(); });
  if (is_broken()) return;
  meet();
  lci::free_comp(&received);
  lci::free_comp(&sent);
}

void expect_loss() {
  const auto mine = static_cast<size_t>(me);
  // The other rank must not wait for this one.
  page->lost[mine].store(1);
  page->ended[mine].store(1);
  page->arrived[mine].store(1 << 20);
  if (me == 0) page->posted.store(1);
  until("the other rank to get the failure, too", [] { return has_lost(peer()); });
  until("a post to the failed peer to be refused", [] {
    try {
      if (lci::post_send_x(peer(), content_of(0), size_of(0), 900, lci::COMP_NULL_RETRY)().is_retry()) return false;
    } catch (const std::exception& e) {
      return is_loss(e);
    }
    fail("a post to a failed peer is accepted");
  });
  until("the device to be drained after a failure", [] { return lci::test_drained_x().receives(false)().is_done(); });
}

}  // namespace sweep
