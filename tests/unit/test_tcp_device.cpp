// A device of the tcp backend, and a peer made of plain sockets, which may violate the protocol.
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/tcp_ranks.hpp"

using namespace tcp_test;

namespace {

std::string get_frame(const void* from, uint64_t key, uint64_t size) {
  return framed(bytes_of(get_head{reinterpret_cast<uint64_t>(from), key, size}), frame_kind::get);
}

net_op operation(verb what, void* local, size_t size, void* context) {
  net_op op;
  op.kind = what;
  op.peer = 1;
  op.n_segments = 1;
  op.segments[0] = {local, size, 0};
  op.remote_addr = 0x1000;
  op.remote_key = 7;
  op.context = context;
  return op;
}

}  // namespace

TEST_CASE("messages over a socket arrive whole, wherever the stream is split", "[unit]") {
  connected_pair p;
  const std::vector<std::string> sent = {"", "a", std::string(24, 'b'), std::string(4096, 'c'),
                                         std::string(300'000, 'd')};  // longer than the buffers
  std::string all;
  for (const std::string& m : sent) all += framed(m);
  std::mt19937 random(1);
  for (size_t at = 0; at < all.size();) {
    const size_t size = std::min<size_t>(at < 200 ? 1 : 1 + random() % 20'000, all.size() - at);
    p.say(all.substr(at, size));
    at += size;
    p.poll();
  }
  p.until([&] { return p.sink.messages.size() == sent.size(); });
  CHECK(p.sink.messages == sent);
  CHECK(p.sink.failures.empty());
}

TEST_CASE("messages after one whose handler threw are delivered by the next poll", "[unit]") {
  connected_pair p;
  p.sink.throws = true;
  std::string all;
  for (int i = 0; i < 8; ++i) all += framed(std::to_string(i));
  p.say(all);
  p.until([&] { return p.sink.messages.size() == 8; });
  CHECK(p.sink.messages == std::vector<std::string>{"0", "thrown", "2", "thrown", "4", "thrown", "6", "thrown"});
}

TEST_CASE("a peer is alive while handlers of two threads that poll throw", "[unit]") {
  struct throwing final : event_sink {
    void on_recv(int, const std::byte*, size_t, void*) override {
      if (messages.fetch_add(1) % 2 == 1) throw std::runtime_error("a handler's");
    }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override {}
    void on_peer_failure(int, const char*) override { ++failures; }
    void on_operation_failure(void*, int) override {}
    std::atomic<int> messages{0}, failures{0};
  } sink;
  connected_pair p;
  constexpr int n_messages = 50'000;
  std::thread peer([&] {
    std::string many;
    for (int i = 0; i < 100; ++i) many += framed(std::string(1000, 'm'));  // they fill the buffers
    for (int i = 0; i < n_messages && send(p.peer.get(), many.data(), many.size(), MSG_NOSIGNAL) > 0;) i += 100;
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto poll = [&] {
    while (sink.messages < n_messages && sink.failures == 0 && std::chrono::steady_clock::now() < end) {
      try {
        p.own.poll(sink, 64);
      } catch (const std::runtime_error&) {
      }
    }
  };
  std::thread other(poll);
  poll();
  other.join();
  shutdown(p.peer.get(), SHUT_RDWR);
  peer.join();
  CHECK(sink.messages == n_messages);
  CHECK(sink.failures == 0);
}

TEST_CASE("a peer that sends invalid frames has failed", "[unit]") {
  std::mt19937 random(2);
  for (int round = 0; round < 40; ++round) {
    connected_pair p;
    std::string bytes = framed("good");
    std::string bad = framed("bad", static_cast<frame_kind>(random()));
    if (round % 2 == 1) {
      const uint32_t size = static_cast<uint32_t>(largest_message) + 1 + static_cast<uint32_t>(random() % 1000);
      bad = framed("bad");
      std::memcpy(bad.data(), &size, sizeof size);
    }
    p.say(bytes + bad + std::string(random() % 100, 'x'));
    p.until([&] { return !p.sink.failures.empty(); });
    CHECK(p.sink.messages == std::vector<std::string>{"good"});
    CHECK(p.sink.failures == std::vector<std::string>{"1tcp: " + std::string(no_frame)});
    CHECK(p.own.inject(1, {}, "x", 1) == lci::errorcode_t::fatal);
  }
}

TEST_CASE("the end of a connection is a failure only without a close notification", "[unit]") {
  for (const bool polite : {true, false}) {
    connected_pair p;
    p.say(framed("last") + (polite ? framed("", frame_kind::close) : framed("cut").substr(0, 9)));
    p.peer = socket_handle();
    p.until([&] { return p.own.inject(1, {}, "x", 1) == lci::errorcode_t::fatal; });
    for (int i = 0; i < 100; ++i) p.poll();
    CHECK(p.sink.messages == std::vector<std::string>{"last"});
    CHECK(p.sink.failures.size() == (polite ? 0 : 1));
    CHECK(p.own.flushed());
  }
}

TEST_CASE("posts to a peer that does not read return retry, and no message is lost", "[unit]") {
  connected_pair p;
  const std::string text(4000, 't');
  int posted = 0;
  while (p.own.inject(1, {{1, 2}}, text.data(), text.size()) == lci::errorcode_t::done) ++posted;
  CHECK(posted > 30);
  CHECK_FALSE(p.own.flushed());
  const size_t size = frame_room(sizeof(message_head) + text.size());
  const size_t expected = static_cast<size_t>(posted) * size + frame_room(0);  // and a close notification
  size_t got = 0;
  std::string bytes(1 << 16, '\0');
  p.until([&] {
    const ssize_t n = recv(p.peer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) got += static_cast<size_t>(n);
    return p.own.flushed() && got == expected;
  });
  CHECK(got == expected);
}

TEST_CASE("puts over a socket write the right bytes, in order with messages, wherever the stream is split", "[unit]") {
  connected_pair p;
  std::mt19937 random(3);
  std::vector<std::string> contents;
  for (const size_t size : {1u, 8u, 100u, 5000u, 30'000u, 200'000u, 50'000u, 3u, 0u}) contents.emplace_back(size, 'p');
  for (std::string& content : contents)
    for (char& byte : content) byte = static_cast<char>(random());
  size_t room = 0;
  for (const std::string& content : contents) room += content.size();
  std::string memory(room, '-'), expected;
  const registration r = p.own.register_memory(memory.data(), memory.size());
  std::string all;
  uint32_t imm = 0;
  for (const std::string& content : contents) {
    all += put_frame(memory.data() + expected.size(), r.rkey, content, imm % 2 == 0 ? &imm : nullptr);
    all += framed("behind " + std::to_string(imm++));
    expected += content;
  }
  size_t behind = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t size = std::min<size_t>(1 + random() % (at < 2000 ? 40 : 60'000), all.size() - at);
    p.say(all.substr(at, size));
    at += size;
    p.poll();
    for (size_t end = 0; behind < p.sink.messages.size(); ++behind) {
      for (size_t i = 0; i <= behind; ++i) end += contents[i].size();
      CHECK(memory.compare(0, end, expected, 0, end) == 0);
      end = 0;
    }
  }
  p.until([&] { return p.sink.messages.size() == contents.size(); });
  CHECK(memory == expected);
  CHECK(p.sink.written == std::vector<uint32_t>{0, 2, 4, 6, 8});
  CHECK(p.receive(4 * frame_room(0))
            .compare(0, sizeof(frame_head), framed("", frame_kind::landed), 0, sizeof(frame_head)) == 0);
  CHECK(p.sink.failures.empty());
}

TEST_CASE("an access to memory that is not registered ends the connection, or is refused", "[unit]") {
  std::string memory(1000, '-');
  for (int what = 0; what < 6; ++what) {
    connected_pair p;
    const registration r = p.own.register_memory(memory.data(), memory.size());
    const uint64_t key = what == 1 ? r.rkey + 1 : r.rkey;
    if (what == 2) p.own.deregister_memory(r);
    const char* const at = memory.data() + (what == 3 ? -1 : what == 4 ? 1000 : 999);
    const size_t size = what == 0 ? 1 : 2;
    p.say(get_frame(at, key, size));
    const std::string answer = framed(what == 0 ? "-" : "", what == 0 ? frame_kind::data : frame_kind::refusal);
    const size_t defined = sizeof(frame_head) + (what == 0);
    CHECK(p.receive(answer.size()).compare(0, defined, answer, 0, defined) == 0);
    if (what == 0) continue;
    p.say(put_frame(at, key, std::string(size, 'p')));
    p.until([&] { return !p.sink.failures.empty(); });
    CHECK(p.sink.failures ==
          std::vector<std::string>{
              "1tcp: it writes to memory that is not registered here, read-only, or not mapped any more"});
    CHECK(memory == std::string(1000, '-'));
    char none;
    p.until([&] { return recv(p.peer.get(), &none, 1, MSG_DONTWAIT) == 0; });  // the connection is closed
  }
}

TEST_CASE("data that was not requested, or of another size, is an invalid frame", "[unit]") {
  for (int what = 0; what < 6; ++what) {
    connected_pair p;
    std::string memory(100, '-');
    int context = 0;
    if (what > 2)
      CHECK(p.own.post(operation(verb::get, memory.data(), memory.size(), &context)) == lci::errorcode_t::posted);
    const std::string bad[] = {framed("data", frame_kind::data), framed("", frame_kind::refusal),
                               framed("", frame_kind::landed),   framed(std::string(101, 'x'), frame_kind::data),
                               framed("", frame_kind::landed),   framed("x", frame_kind::get)};
    p.say(bad[what]);
    p.until([&] { return !p.sink.failures.empty() && p.sink.failed.size() == (what > 2 ? 1 : 0); });
    CHECK(p.sink.failures == std::vector<std::string>{"1tcp: " + std::string(no_frame)});
    CHECK(memory == std::string(100, '-'));
  }
}

TEST_CASE("gets over a socket are answered in order, and refused one by one", "[unit]") {
  connected_pair p;
  std::vector<std::string> memory(connection::most_asked, std::string(40'000, '-'));
  for (std::string& m : memory)
    REQUIRE(p.own.post(operation(verb::get, m.data(), m.size(), &m)) == lci::errorcode_t::posted);
  CHECK(p.own.post(operation(verb::get, memory[0].data(), 1, nullptr)) == lci::errorcode_t::retry_nomem);
  const std::string asked = p.receive(memory.size() * frame_room(sizeof(get_head)));
  CHECK(asked.find(bytes_of(get_head{0x1000, 7, 40'000})) == sizeof(frame_head));
  for (size_t i = 0; i < memory.size(); ++i) {
    p.say(i == 5 ? framed("", frame_kind::refusal)
                 : framed(std::string(40'000, static_cast<char>('a' + i)), frame_kind::data));
    p.until([&] { return p.sink.completed.size() + p.sink.failed.size() == i + 1; });
  }
  CHECK(p.sink.failed == std::vector<void*>{&memory[5]});
  CHECK(memory[5] == std::string(40'000, '-'));
  CHECK(memory[15] == std::string(40'000, 'p'));
  CHECK(p.own.post(operation(verb::get, memory[0].data(), 1, nullptr)) == lci::errorcode_t::posted);
}

TEST_CASE("a long put is sent from its buffer, and ends when it is acknowledged", "[unit]") {
  for (const bool tells : {false, true}) {
    connected_pair p;
    const size_t size = size_t{20} << 20;
    std::string content(size, 'c');
    for (size_t i = 0; i < size; i += 4096) content[i] = static_cast<char>(i >> 12);
    int context = 0;
    net_op op = operation(verb::put, content.data(), size, &context);
    op.has_imm = tells;
    REQUIRE(p.own.post(op) == lci::errorcode_t::posted);
    CHECK(p.own.inject(1, {{1, 2}}, "behind", 6) == lci::errorcode_t::done);
    for (int i = 0; i < 100; ++i) p.poll();
    CHECK(p.sink.completed.empty());
    CHECK_FALSE(p.own.flushed());
    const std::string got = p.receive(frame_room(sizeof(put_head) + size));
    CHECK(got.compare(sizeof(frame_head) + sizeof(put_head), size, content) == 0);
    CHECK(p.receive(frame_room(22)).find("behind") == sizeof(frame_head) + 16);
    for (int i = 0; i < 100; ++i) p.poll();
    CHECK(p.sink.completed.size() == tells);  // a put with immediate data needs no acknowledgement
    if (!tells) p.say(framed("", frame_kind::landed));
    p.until([&] { return !p.sink.completed.empty(); });
    CHECK(p.sink.completed == std::vector<void*>{&context});
    p.until([&] { return p.own.flushed(); });
  }
}

TEST_CASE("long puts posted by handlers of one poll are written in order with messages, and each ends", "[unit]") {
  connected_pair p;
  constexpr size_t n = 12;
  std::vector<std::string> contents(n);
  std::array<int, n> contexts{};
  std::vector<void*> outstanding;
  std::string expected;
  for (size_t i = 0; i < n; ++i) {
    // More than sockets hold, so that calls end anywhere in a row of puts; short ones, so that a call writes several.
    contents[i].resize(i % 4 == 3 ? (size_t{2} << 20) + 7 * i : 17000 + 1009 * i);
    for (size_t k = 0; k < contents[i].size(); ++k) contents[i][k] = static_cast<char>(k * 31 + (k >> 8) + i);
    const put_head head{4096 * i, 7, static_cast<uint32_t>(i), put_head::has_imm};
    expected += framed(bytes_of(head) + contents[i], frame_kind::put);
    if (i == 5) expected += framed(std::string(16, 'h') + "between");
  }
  p.sink.on_message = [&] {
    const size_t i = p.sink.messages.size() - 1;
    net_op op = operation(verb::put, contents[i].data(), contents[i].size(), &contexts[i]);
    op.remote_addr = 4096 * i;
    op.remote_key = 7;
    op.has_imm = true;
    op.imm = static_cast<uint32_t>(i);
    const lci::errorcode_t posted = p.own.post(op);
    CHECK((posted == lci::errorcode_t::posted || posted == lci::errorcode_t::done));
    if (posted == lci::errorcode_t::posted) outstanding.push_back(&contexts[i]);
    message_head head{};
    std::memset(&head, 'h', sizeof head);
    if (i == 5) CHECK(p.own.inject(1, head, "between", 7) == lci::errorcode_t::done);
  };
  std::string together;
  for (size_t i = 0; i < n; ++i) together += framed("message " + std::to_string(i));
  p.say(together);
  p.until([&] { return p.sink.messages.size() == n; });
  CHECK(outstanding.size() >= n - 1);
  // The padding of frames may have any value.
  const std::string got = p.receive(expected.size());
  for (size_t at = 0; at < got.size();) {
    frame_head head;
    std::memcpy(&head, expected.data() + at, sizeof head);
    REQUIRE(got.compare(at, sizeof head + head.size, expected, at, sizeof head + head.size) == 0);
    at += frame_room(head.size);
  }
  p.until([&] { return p.sink.completed.size() == outstanding.size(); });
  CHECK(p.sink.completed == outstanding);
  p.until([&] { return p.own.flushed(); });
}

TEST_CASE("a peer with more requests at a time than allowed has failed", "[unit]") {
  for (const bool puts : {false, true}) {
    connected_pair p;
    std::string memory(200'000, 'm');
    const registration r = p.own.register_memory(memory.data(), memory.size());
    // Not what the answers to the gets are read from, at the same time and by another thread.
    std::string target(1, 't');
    const registration of_target = p.own.register_memory(target.data(), target.size());
    // Fill the socket first, so that even short answers wait.
    std::string all;
    for (int i = 0; i < 100; ++i) all += get_frame(memory.data(), r.rkey, memory.size());
    p.say(all);
    for (int i = 0; i < 1000; ++i) p.poll();
    CHECK(p.sink.failures.empty());
    std::string more;
    for (int i = 0; i < 200; ++i)
      more += puts ? put_frame(target.data(), of_target.rkey, "x") : get_frame(memory.data(), r.rkey, memory.size());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (p.sink.failures.empty() && std::chrono::steady_clock::now() < end) {
      (void)!send(p.peer.get(), more.data(), more.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      p.poll();
    }
    CHECK(p.sink.failures == std::vector<std::string>{"1tcp: it asks for more at a time than it may"});
  }
}

TEST_CASE("puts that are copied fit, however small buffers and packets are", "[unit]") {
  connected_pair p(1, 64);
  std::string content(4000, 'c');
  int context = 0;
  size_t posted = 0;
  while (p.own.post(operation(verb::put, content.data(), content.size(), &context)) == lci::errorcode_t::posted)
    ++posted;
  CHECK(posted == connection::most_asked);
  std::string all(posted * frame_room(sizeof(put_head) + content.size()), '\0');
  CHECK(p.receive(all.size()).compare(sizeof(frame_head) + sizeof(put_head), content.size(), content) == 0);
  for (size_t i = 0; i < posted; ++i) p.say(framed("", frame_kind::landed));
  p.until([&] { return p.sink.completed.size() == posted; });
  // Also if the socket accepts no more.
  net_op op = operation(verb::put, content.data(), content.size(), &context);
  op.inject = true;
  size_t injected = 0;
  while (p.own.post(op) == lci::errorcode_t::done) ++injected;
  (void)p.receive(injected * frame_room(sizeof(put_head) + content.size()));
}

TEST_CASE("puts that wait and gets without an answer fail with their peer", "[unit]") {
  connected_pair p;
  std::string content(size_t{20} << 20, 'c');
  std::vector<int> contexts(40);
  size_t posted = 0;
  for (; posted < 30; ++posted)
    if (p.own.post(operation(verb::put, content.data(), content.size(), &contexts[posted])) != lci::errorcode_t::posted)
      break;
  CHECK(posted >= connection::most_waiting);
  CHECK(posted <= connection::most_waiting + 1);
  p.peer = socket_handle();
  p.until([&] { return p.sink.failed.size() == posted && !p.sink.failures.empty(); });
  CHECK(p.sink.completed.empty());
  CHECK(p.own.post(operation(verb::put, content.data(), content.size(), nullptr)) == lci::errorcode_t::fatal);
  CHECK(p.own.post(operation(verb::get, content.data(), content.size(), nullptr)) == lci::errorcode_t::fatal);
  CHECK(p.own.flushed());

  connected_pair q;
  std::string half(50'000, '-');
  REQUIRE(q.own.post(operation(verb::get, half.data(), half.size(), &contexts[0])) == lci::errorcode_t::posted);
  REQUIRE(q.own.post(operation(verb::get, half.data(), half.size(), &contexts[1])) == lci::errorcode_t::posted);
  q.say(framed(std::string(50'000, 'h'), frame_kind::data).substr(0, 20'000));
  q.until([&] { return half[10'000] == 'h'; });
  q.peer = socket_handle();
  q.until([&] { return q.sink.failed.size() == 2; });
  CHECK(q.sink.completed.empty());
}

TEST_CASE("puts and gets of a rank to itself are copies", "[unit]") {
  connected_pair p;
  std::string from = "from", to = "----";
  const registration r = p.own.register_memory(to.data(), to.size());
  net_op op = operation(verb::put, from.data(), 4, nullptr);
  op.peer = 0;
  op.remote_addr = reinterpret_cast<uint64_t>(to.data());
  op.remote_key = r.rkey;
  CHECK(p.own.post(op) == lci::errorcode_t::done);
  CHECK(to == "from");
  op.kind = verb::get;
  from = "----";
  CHECK(p.own.post(op) == lci::errorcode_t::done);
  CHECK(from == "from");
}

TEST_CASE("a connection for which there was no descriptor is tried again soon, however seldom the rank polls",
          "[unit]") {
  // Where many processes share a core, or the program computes, the time from poll to poll is long.
  const bool polls = GENERATE(true, false);
  two_ranks exchange;
  endpoint other;
  other.address = listening_address("127.0.0.1");
  const socket_handle listener = listen_at(other.address, 1);
  exchange.other = other.packed();
  sockets::context net(exchange, attributes(131072));
  sockets::device own(net, 4096);
  net.settle(acquaintance::all_at_once);
  own.settle(acquaintance::all_at_once);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const lci::errorcode_t posted = own.inject(1, {}, "x", 1);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(posted == lci::errorcode_t::done);
  recorder sink;
  const auto begin = std::chrono::steady_clock::now();
  const auto age = [&] { return std::chrono::steady_clock::now() - begin; };
  socket_handle taken;
  while (taken.get() < 0 && age() < std::chrono::seconds(2)) {
    if (polls) own.poll(sink, 64);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    taken = socket_handle(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  CHECK(taken.get() >= 0);
  CHECK(sink.failures.empty());
}
