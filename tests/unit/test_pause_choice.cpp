// A shared-memory receiver waits long for the messages of a stream only if it has measured that this is clearly faster.
#include <catch2/catch.hpp>

#include <cstdint>

#include "network/shm/pause_choice.hpp"

namespace {

uint64_t pause_clock = 0;
uint64_t read_pause_clock() { return pause_clock; }

/// A receiver on a simulated machine: `after_long_takes` and `after_short_takes` are the ticks from one message to the
/// next, depending on the pauses between them.
struct pausing_receiver {
  explicit pausing_receiver(lci::attr_choice_t rule = lci::attr_choice_t::auto_select) : choice(rule) {}

  lci::network::shm::pause_choice_by<read_pause_clock> choice;
  uint64_t after_long_takes = 100, after_short_takes = 100;
  uint64_t idle = 0;  // ticks in which the program does something else, after every seventh message
  bool is_comparable = true;

  /// Receives so many messages of 4 KiB. Returns after how many of them the receiver makes a long pause.
  int receive(int messages) {
    int n_long = 0;
    for (int i = 0; i < messages; ++i) {
      pause_clock += choice.is_long() ? after_long_takes : after_short_takes;
      if (i % 7 == 0) pause_clock += idle;
      choice.has_read(4096, is_comparable);
      n_long += choice.is_long() ? 1 : 0;
    }
    return n_long;
  }
};

}  // namespace

TEST_CASE("a receiver pauses for long if that is faster, and notices when it no longer is", "[pause_choice]") {
  pausing_receiver receiver;
  receiver.after_long_takes = 70;
  receiver.receive(5000);
  CHECK(receiver.receive(100000) > 99000);
  receiver.after_long_takes = 130;  // as after a move to another core
  receiver.receive(100000);
  CHECK(receiver.receive(100000) < 1000);
}

TEST_CASE("a receiver that gains little by long pauses makes short ones", "[pause_choice]") {
  pausing_receiver receiver;
  receiver.after_long_takes = 97;
  CHECK(receiver.receive(200000) < 2000);
}

TEST_CASE("what the program does between messages does not decide how long a receiver pauses", "[pause_choice]") {
  pausing_receiver receiver;
  receiver.after_long_takes = 70;
  receiver.idle = 1'000'000'000;
  receiver.receive(5000);
  CHECK(receiver.receive(100000) > 99000);
}

TEST_CASE("a receiver does not compare pauses while something else is tried", "[pause_choice]") {
  pausing_receiver receiver;
  receiver.after_long_takes = 70;
  receiver.is_comparable = false;
  receiver.receive(100000);
  CHECK(receiver.receive(100000) < 2000);
}

TEST_CASE("the attribute decides how long a receiver pauses", "[pause_choice]") {
  pausing_receiver always(lci::attr_choice_t::always), never(lci::attr_choice_t::never);
  always.after_long_takes = never.after_short_takes = 130;
  CHECK(always.receive(1000) == 1000);
  CHECK(never.receive(1000) == 0);
}
