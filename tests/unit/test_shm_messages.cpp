// Lanes deliver messages of all lengths in order, also when their rings wrap around.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "network/shm/device_entries.hpp"
#include "network/shm/in_lane.hpp"
#include "network/shm/out_lane.hpp"
#include "network/shm/segment.hpp"

using namespace lci::network::shm;
using lci::network::message_head;

namespace {

constexpr uint32_t n_slots = 32;

/// Both ends of a lane.
struct lane_pair {
  own_segment segment{0, n_slots, 4096};
  out_lane out{segment.view(), 0, segment.view().device(open_entry(segment.view(), 0)), false,
               lci::attr_choice_t::auto_select};
  in_lane in{segment.view(), 0, 1, lci::attr_choice_t::auto_select, lci::attr_choice_t::auto_select};
  std::vector<std::string> got;
  std::atomic<uint32_t> idle_polls{0};

  int drain(int max = 1000) {
    return in.drain(
        max,
        [&](int, const std::byte* data, size_t size) { got.emplace_back(reinterpret_cast<const char*>(data), size); },
        [&](int, uint32_t imm) { got.push_back("immediate " + std::to_string(imm)); });
  }
  /// Pushes a message in two parts, as posts do. False if there is no room.
  bool push(const std::string& message) {
    const size_t first = std::min(message.size(), sizeof(message_head));
    const char* const rest = message.data() + first;
    const size_t rest_size = message.size() - first;
    if (!out.has_room()) return false;
    if (message.size() > slot_word::widest) return out.push_large(message.data(), first, rest, rest_size, idle_polls);
    if (rest_size == 0 || rest_size % 3 == 0) {
      out.push_small(message.data(), first, rest, rest_size);
      return true;
    }
    message_head head;
    std::memcpy(&head, message.data(), sizeof head);
    if (rest_size <= out_lane::most_behind_head)
      out.push_slot(head, rest, rest_size);
    else if (rest_size <= out_lane::most_of_line)
      out.push_line(head, rest, rest_size);
    else
      out.push_lines(head, rest, rest_size);
    return true;
  }
};

std::string message(uint64_t number, size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(number * 31 + i);
  return text;
}

/// Lengths around every threshold.
size_t some_size(std::mt19937& random) {
  static constexpr size_t sizes[] = {1,  8,  16, 17, 23, 24,  25,  32,  55,  56,  57,
                                     58, 64, 79, 80, 88, 111, 112, 113, 200, 1000};
  return sizes[random() % std::size(sizes)];
}

}  // namespace

TEST_CASE("lane: messages of all lengths arrive whole and in order") {
  lane_pair lane;
  std::mt19937 random(3);
  std::vector<std::string> sent;
  for (uint64_t i = 0; i < 20000; ++i) {
    const std::string m = message(i, some_size(random));
    while (!lane.push(m)) REQUIRE(lane.drain(1 + static_cast<int>(random() % 7)) > 0);
    sent.push_back(m);
    if (random() % 50 == 0 && lane.out.has_room()) {
      lane.out.push_immediate(static_cast<uint32_t>(i));
      sent.push_back("immediate " + std::to_string(i));
    }
  }
  while (lane.in.ready()) lane.drain();
  CHECK(lane.got == sent);
}

TEST_CASE("lane: two short messages share a line, and a longer one begins with the next") {
  lane_pair lane;
  const auto lines = [&] { return lane.out.sent() / 2; };
  CHECK(lane.push(message(1, 24)));
  CHECK(lane.push(message(2, 24)));
  CHECK(lines() == 1);
  CHECK(lane.push(message(3, 24)));
  CHECK(lane.push(message(4, 25)));
  CHECK(lines() == 3);
  CHECK(lane.push(message(5, 500)));  // a reference is short
  CHECK(lane.push(message(6, 500)));
  CHECK(lines() == 4);
  // The empty slot is not a message, whether many are drained or only one.
  CHECK(lane.drain(3) == 3);
  CHECK(lane.got.size() == 3);
  lane.drain(1);
  CHECK(lane.got.size() == 4);
  lane.drain();
  CHECK(lane.got ==
        std::vector{message(1, 24), message(2, 24), message(3, 24), message(4, 25), message(5, 500), message(6, 500)});
}

TEST_CASE("lane: a message of several lines begins with a line, also where the ring ends") {
  lane_pair lane;
  const auto lines = [&] { return lane.out.sent() / 2; };
  CHECK(lane.push(message(1, 24)));
  CHECK(lane.push(message(2, 112)));
  CHECK(lines() == 3);
  CHECK(lane.push(message(3, 113)));
  CHECK(lines() == 6);
  CHECK(lane.push(message(4, 57)));
  CHECK(lines() == 8);
  CHECK(lane.push(message(5, 56)));
  CHECK(lines() == 9);
  CHECK(lane.drain(1) == 1);
  CHECK(lane.drain(1) == 1);
  CHECK(lane.drain() == 3);
  CHECK(lane.got == std::vector{message(1, 24), message(2, 112), message(3, 113), message(4, 57), message(5, 56)});
  lane.got.clear();
  for (uint64_t i = lines(); i < n_slots / 2 - 2; ++i) CHECK((lane.push(message(i, 56)) && lane.drain() == 1));
  lane.got.clear();
  CHECK(lane.push(message(6, 168)));  // the ring's last two lines are skipped
  CHECK(lines() == n_slots / 2 + 3);
  CHECK(lane.drain(1) == 1);
  CHECK(lane.got == std::vector{message(6, 168)});
}

TEST_CASE("lane: bytes of a message of several lines are not taken for a message after the ring wraps around") {
  constexpr uint32_t span = 2 * slot_word::most_lines;
  lane_pair lane;
  for (uint32_t i = 0; i + span <= n_slots; i += span) {
    // Everywhere in the message are words that slots have when they are full the next time.
    std::string data = message(i, slot_word::widest);
    for (uint32_t at = 16; at < data.size(); at += sizeof(uint64_t)) {
      const uint64_t forged = slot_word::pack(n_slots + i + (at + sizeof(uint64_t)) / slot_size, 8);
      std::memcpy(data.data() + at, &forged, sizeof forged);
    }
    CHECK(lane.push(data));
    lane.drain();
    CHECK(lane.got.back() == data);
  }
  for (uint64_t i = 0; i < n_slots; ++i) {
    lane.got.clear();
    CHECK_FALSE(lane.in.ready());
    CHECK(lane.push(message(i, 24)));
    lane.drain();
    CHECK(lane.got == std::vector{message(i, 24)});
  }
}

TEST_CASE("lane: a message with a size that no sender writes is ignored") {
  lane_pair lane;
  CHECK(lane.push(message(1, 56)));
  slot_ring slots(slots_of(lane.segment.view().lane(0)), n_slots);
  slots[0].word() = slot_word::pack(0, (slot_word::widest + 1) | slot_word::takes_line);
  CHECK(lane.push(message(2, 112)));
  while (lane.in.ready()) lane.drain();
  CHECK(lane.got == std::vector{message(2, 112)});
}

TEST_CASE("lane: the rest of a longer message in a line is not taken for a message after the ring wraps around") {
  lane_pair lane;
  for (uint32_t i = 0; i < n_slots; i += 2) {
    // The bytes at the word of the second slot have the value that the word has when the slot is full the next time.
    std::string data = message(i, 56);
    const uint64_t forged = slot_word::pack(n_slots + i + 1, 8);
    std::memcpy(data.data() + slot_word::narrow, &forged, sizeof forged);
    CHECK(lane.push(data));
    lane.drain();
  }
  CHECK(lane.got.size() == n_slots / 2);
  for (uint64_t i = 0; i < n_slots; ++i) {
    lane.got.clear();
    CHECK(lane.push(message(i, 24)));
    lane.drain();
    CHECK(lane.got == std::vector{message(i, 24)});
    CHECK_FALSE(lane.in.ready());
  }
}

TEST_CASE("lane: its slots hold messages, and it reports when it is full") {
  for (const size_t size : {24, 56, 168}) {
    lane_pair lane;
    size_t held = 0;
    while (lane.push(message(held, size))) ++held;
    const uint64_t slots = size > slot_word::wide ? slot_word::slots_of_long(size) : 2;
    CHECK(held >= (n_slots - 11) / slots);
    CHECK(held <= n_slots);
    lane.drain();
    CHECK(lane.got.size() == held);
    CHECK(lane.push(message(0, size)));
  }
}

TEST_CASE("lane: one thread sends while another receives") {
  constexpr uint64_t count = 50000;
  lane_pair lane;
  std::thread receiver([&] {
    std::mt19937 random(5);
    uint64_t n = 0, wrong = 0;
    while (n < count) {
      lane.got.clear();
      if (!lane.in.ready()) {
        std::this_thread::yield();
        continue;
      }
      lane.drain(32);
      for (const auto& m : lane.got) wrong += m != message(n++, some_size(random));
    }
    CHECK(wrong == 0);
  });
  std::mt19937 random(5);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string m = message(i, some_size(random));
    while (!lane.push(m)) std::this_thread::yield();
  }
  receiver.join();
}

TEST_CASE("lane: a sender can tell whether its receiver polls") {
  using lci::network::attention;
  lane_pair lane;
  std::atomic<uint32_t>& polls = lane.out.entry().idle_polls;
  CHECK(lane.out.receivers_attention(0) == attention::unknown);
  // Repeated, since a poll does not count if this thread is descheduled between the poll and the query.
  const auto seen = [&](attention expected, auto ours, bool first_polls = true) {
    for (int i = 0; i < 1000; ++i) {
      if (first_polls) ++polls;
      if (lane.out.receivers_attention(ours()) == expected) return true;
    }
    return false;
  };
  // The sender has been busy all the time, or has polled without a message, too.
  uint32_t n = 0;
  CHECK(seen(attention::streams, [&] { return n; }));
  CHECK(seen(attention::polls, [&] { return ++n; }));
  ++polls;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(lane.out.receivers_attention(n) == attention::unknown);  // the last query was too long ago
  // A later query looks at the receiver again.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::atomic<bool> over{false};
  std::thread receiver([&] {
    while (!over) ++polls;
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (lane.out.receivers_attention(n) == attention::unknown && std::chrono::steady_clock::now() < deadline) {
  }
  CHECK(std::chrono::steady_clock::now() < deadline);
  over = true;
  receiver.join();
}

TEST_CASE("lane: after a stream of larger messages it is not due for a short time") {
  lane_pair lane;
  CHECK(lane.push(message(1, 24)));
  CHECK(lane.in.is_due());
  lane.drain();
  CHECK(lane.push(message(2, 500)));
  CHECK(lane.in.is_due());  // small messages do not count
  lane.drain();
  CHECK(lane.push(message(3, 500)));
  CHECK(lane.in.ready());
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  CHECK(lane.in.is_due());
  lane.drain();
  CHECK(lane.got.size() == 3);
}

TEST_CASE("lane: the room of an answered message is given back by the next idle polls") {
  lane_pair lane;
  const std::string half = message(1, 2000);
  CHECK((lane.push(half) && lane.push(half)));
  CHECK(lane.drain(1) == 1);  // as before an answer
  CHECK_FALSE(lane.push(half));
  CHECK(lane.in.is_due());
  CHECK(lane.drain(1) == 1);
  CHECK_FALSE(lane.push(half));
  int polls = 0;
  while (!lane.push(half) && polls < 100) {
    ++polls;
    CHECK_FALSE(lane.in.is_due());
  }
  CHECK((polls > 1 && polls < 10));
  CHECK(lane.drain(1) == 1);
  CHECK(lane.push(half));
  CHECK(lane.drain() == 1);  // no answer: the room of both at once
  CHECK((lane.push(half) && lane.push(half)));
  CHECK(lane.drain() == 2);
  CHECK(lane.got == std::vector<std::string>(6, half));
}

TEST_CASE("lane: polls don't write to the byte ring of a lane that has ended") {
  lane_pair lane;
  CHECK(lane.push(message(1, 2000)));
  CHECK(lane.drain(1) == 1);
  lane.in.end();
  std::byte* const bytes = data_of(lane.segment.view().lane(0), n_slots);
  std::memset(bytes, 1, 4096);  // those of another device's sender
  for (int i = 0; i < 10; ++i) CHECK_FALSE(lane.in.is_due());
  CHECK(std::all_of(bytes, bytes + 4096, [](std::byte b) { return b == std::byte{1}; }));
}

TEST_CASE("lane: an empty slot is not taken for a full one, also if line numbers exceed 2^32") {
  for (const uint64_t line : {uint64_t{0}, uint64_t{2}, uint64_t{0x7ffffffe}, uint64_t{0xfffffffe},
                              uint64_t{0x100000000}, uint64_t{0x1fffffffe}}) {
    CHECK_FALSE(slot_word::is_of(slot_word::empty_first, line));
    CHECK_FALSE(slot_word::is_of(slot_word::empty_second, line + 1));
    CHECK(slot_word::is_of(slot_word::pack(line, 8), line));
    CHECK(slot_word::is_of(slot_word::pack(line + 1, 8), line + 1));
  }
}
