// A tcp device answers all puts and gets of its peer even if there is no memory at the first try: the peer waits for
// the answers.
#include <catch2/catch.hpp>

#include <new>
#include <string>

#include "tests/sim/failing_memory.hpp"
#include "tests/unit/tcp_ranks.hpp"

namespace tcp_test {

using sim_test::failing_memory;

namespace {

constexpr size_t size = 64;

std::string get_frame_of(const void* from, uint64_t key) {
  return framed(bytes_of(get_head{reinterpret_cast<uint64_t>(from), key, size}), frame_kind::get);
}

/// Polls several times while the allocation after `good` ones fails. Returns whether one has failed.
bool poll_without_memory(connected_pair& p, long good) {
  {
    const failing_memory once(0, good, 1);
    for (int i = 0; i < 200; ++i) {
      try {
        (void)p.own.poll(p.sink, 64);
      } catch (const std::bad_alloc&) {
      }
    }
  }
  return failing_memory::failures() != 0;
}

}  // namespace

TEST_CASE("answers to puts and gets are sent later if there is no memory for them", "[sim]") {
  int n_failed = 0;
  for (long good = 0;; ++good) {
    connected_pair p;
    std::string memory(3 * size, '-');
    const auto r = p.own.register_memory(memory.data(), memory.size());
    const std::string content[] = {std::string(size, 'a'), std::string(size, 'b'), std::string(size, 'c')};
    std::string requests, answers;
    for (size_t i = 0; i < 3; ++i) {
      requests += put_frame(memory.data() + i * size, r.rkey, content[i]);
      requests += get_frame_of(memory.data() + i * size, r.rkey);
      answers += framed("", frame_kind::landed) + framed(content[i], frame_kind::data);
    }
    p.say(requests);
    const bool failed = poll_without_memory(p, good);
    n_failed += failed;
    CAPTURE(good);
    const std::string received = p.receive(answers.size());
    // The padding of frames may have any value.
    const auto head_of = [](const std::string& bytes, size_t at) { return bytes.substr(at, sizeof(frame_head)); };
    for (size_t at = 0; at + sizeof(frame_head) <= received.size();) {
      CHECK(head_of(received, at) == head_of(answers, at));
      frame_head head;
      std::memcpy(&head, answers.data() + at, sizeof head);
      CHECK(received.substr(at + sizeof head, head.size) == answers.substr(at + sizeof head, head.size));
      at += frame_room(head.size);
    }
    CHECK(memory == content[0] + content[1] + content[2]);
    CHECK(p.sink.failures.empty());
    p.own.deregister_memory(r);
    if (!failed) break;
  }
  CHECK(n_failed >= 2);
}

}  // namespace tcp_test
