// Frames on a connection of the tcp backend.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "lci/errors.hpp"
#include "network/tcp/chunk.hpp"
#include "network/tcp/endpoint.hpp"
#include "network/tcp/frame.hpp"
#include "network/tcp/hello.hpp"

using namespace lci::network::sockets;

namespace {

std::vector<std::byte> stream_of(const std::vector<std::string>& messages) {
  size_t size = 0;
  for (const auto& m : messages) size += frame_room(m.size());
  std::vector<std::byte> all(size);
  std::byte* at = all.data();
  for (const auto& m : messages) {
    std::memcpy(begin_frame(at, frame_kind::message, m.size()), m.data(), m.size());
    at += frame_room(m.size());
  }
  return all;
}

}  // namespace

TEST_CASE("frames are read from a stream as they were written, wherever it is split", "[unit]") {
  const std::vector<std::string> messages = {"", "a", std::string(8, 'b'), std::string(9, 'c'), std::string(1000, 'd')};
  const auto all = stream_of(messages);
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    chunk c(2048);
    std::vector<std::string> found;
    const auto take = [&] {
      frame_view frame{};
      size_t needed = 0;
      while (read_frame(c.data(), c.size(), frame, needed) == frame_state::whole) {
        CHECK(reinterpret_cast<uintptr_t>(frame.message) % frame_alignment == 0);
        found.emplace_back(reinterpret_cast<const char*>(frame.message), frame.size);
        c.begin += needed;
      }
      CHECK(needed > c.size());
      c.compact();
    };
    std::memcpy(c.free_space(), all.data(), cut);
    c.end += cut;
    take();
    if (all.size() > cut) std::memcpy(c.free_space(), all.data() + cut, all.size() - cut);
    c.end += all.size() - cut;
    take();
    CHECK(found == messages);
    CHECK(c.empty());
  }
}

TEST_CASE("a frame has no bytes that were in its memory before", "[unit]") {
  for (size_t size = 0; size <= 3 * frame_alignment; ++size) {
    const std::string message(size, 'm');
    std::vector<std::byte> memory(frame_room(size) + 1, std::byte{0xaa});
    std::memcpy(begin_frame(memory.data(), frame_kind::message, size), message.data(), size);
    CHECK(std::count(memory.begin(), memory.end(), std::byte{0xaa}) == 1);
    CHECK(memory.back() == std::byte{0xaa});
  }
}

TEST_CASE("a frame of an unknown kind, or one that is too long, is invalid", "[unit]") {
  frame_view frame{};
  size_t needed = 0;
  std::byte head[sizeof(frame_head)];
  put_frame_head(head, frame_kind::message, largest_message);
  CHECK(read_frame(head, sizeof head, frame, needed) == frame_state::partial);
  CHECK(needed == frame_room(largest_message));
  put_frame_head(head, frame_kind::message, largest_message + 1);
  CHECK(read_frame(head, sizeof head, frame, needed) == frame_state::garbage);
  put_frame_head(head, static_cast<frame_kind>(0), 8);
  CHECK(read_frame(head, sizeof head, frame, needed) == frame_state::garbage);
  CHECK(read_frame(head, sizeof head - 1, frame, needed) == frame_state::partial);
}

TEST_CASE("a hello and a reply can be decoded, and nothing else is accepted", "[unit]") {
  hello h{new_secret(), 77}, got{};
  CHECK(encode(h).size() == hello_size);
  REQUIRE(decode(encode(h), got));
  CHECK(equal(got.request_secret, h.request_secret));
  CHECK(got.rank == 77);
  reply r{new_secret(), reply::verdict::crossed}, answer{};
  CHECK(encode(r).size() == reply_size);
  REQUIRE(decode(encode(r), answer));
  CHECK(equal(answer.answer, r.answer));
  CHECK(answer.what == reply::verdict::crossed);
  CHECK_FALSE(decode(encode(h), answer));
  CHECK_FALSE(decode(encode(r), got));
  CHECK_FALSE(equal(new_secret(), new_secret()));

  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    std::string bytes = encode(round % 2 == 0 ? h : hello{new_secret(), -1});
    bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % (2 * hello_size));
    hello any{};
    if (decode(bytes, any)) CHECK(any.rank >= 0);
  }
}

TEST_CASE("an endpoint of a device can be unpacked, or is refused", "[unit]") {
  endpoint e;
  e.address = listening_address("127.0.0.1");
  e.request_secret = new_secret();
  e.answer = new_secret();
  const std::string bytes = e.packed();
  const endpoint again = endpoint::unpack(bytes, 1);
  CHECK(equal(again.request_secret, e.request_secret));
  CHECK(equal(again.answer, e.answer));
  CHECK(text_of(again.address) == "127.0.0.1:0");
  for (size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(endpoint::unpack(bytes.substr(0, size), 1), lci::bootstrap_error);
  CHECK_THROWS_AS(endpoint::unpack(std::string(500, 'x'), 1), lci::bootstrap_error);
  CHECK(text_of(listening_address("lo")) == "127.0.0.1:0");
  CHECK_THROWS_AS(listening_address("no such interface"), lci::invalid_argument_error);
}
