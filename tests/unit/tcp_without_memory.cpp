// TCP: a socket is full and takes a part of a message or nothing, and there is no memory to store the rest.
#include <atomic>
#include <thread>

#include "tests/support/failing_memory.hpp"
#include "tests/unit/tcp_ranks.hpp"

using namespace tcp_test;
using lci_test::failing_memory;

TEST_CASE("a message longer than a buffer arrives although there is no memory for it at first", "[unit]") {
  connected_pair p;
  const std::string text(300'000, 'l');
  const std::string bytes = framed(text);
  p.say(bytes.substr(0, 200'000));  // more than the buffer holds
  {
    const failing_memory none(text.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (failing_memory::failures() < 2 && std::chrono::steady_clock::now() < end) {
      try {
        p.poll();
      } catch (const std::bad_alloc&) {
      }
    }
    CHECK(failing_memory::failures() >= 2);
  }
  p.say(bytes.substr(200'000));
  p.until([&] { return p.sink.messages.size() == 1 || !p.sink.failures.empty(); });
  CHECK(p.sink.failures.empty());
  const bool is_whole = p.sink.messages == std::vector<std::string>{text};
  CHECK(is_whole);
}

TEST_CASE("messages to a slow peer arrive although there is no memory for what the socket does not take", "[unit]") {
  connected_pair p(131072, 70000);
  const std::string text(60000, 't');
  const size_t size = frame_room(sizeof(message_head) + text.size());
  constexpr size_t n_messages = 300;
  std::string bytes(200'000, '\0');
  std::atomic<bool> over{false};
  std::atomic<size_t> got{0};
  // Slower than the posts, but the socket does not stay full for long.
  std::thread peer([&] {
    while (!over) {
      const ssize_t n = recv(p.peer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0) got += static_cast<size_t>(n);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  {
    const failing_memory none(text.size());  // no chunk
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (size_t posted = 0; posted < n_messages && std::chrono::steady_clock::now() < end;)
      if (p.own.inject(1, {{1, 2}}, text.data(), text.size()) == lci::errorcode_t::done) ++posted;
    CHECK(failing_memory::failures() > 0);
  }
  p.until([&] { return got == n_messages * size; });
  over = true;
  peer.join();
  CHECK(got == n_messages * size);
  CHECK(p.sink.failures.empty());
}

TEST_CASE("a poll answers a get although there is no memory for the answer for a moment", "[unit]") {
  const std::string memory(100'000, 'm');
  connected_pair p;
  const registration r = p.own.register_memory(const_cast<char*>(memory.data()), memory.size());
  const get_head asks{reinterpret_cast<uint64_t>(memory.data()), r.rkey, memory.size()};
  p.say(framed(bytes_of(asks), frame_kind::get));
  constexpr long most_in_a_row = 5;
  bool has_thrown = false;
  {
    const failing_memory for_a_moment(0, 0, most_in_a_row);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (failing_memory::failures() < most_in_a_row && std::chrono::steady_clock::now() < end) {
      try {
        p.own.poll(p.sink, 64);
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      }
    }
  }
  CHECK(failing_memory::failures() == most_in_a_row);
  CHECK_FALSE(has_thrown);
  const std::string answer = p.receive(frame_room(memory.size()));
  CHECK(answer.compare(sizeof(frame_head), memory.size(), memory) == 0);
  CHECK(p.sink.failures.empty());
  p.own.deregister_memory(r);
}
