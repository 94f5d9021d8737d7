// A shared-memory receiver writes to the lines that it has read unless it has measured that this is slower.
#include <catch2/catch.hpp>

#include <cstdint>

#include "network/shm/write_choice.hpp"

namespace {

uint64_t write_clock = 0;
uint64_t read_write_clock() { return write_clock; }

constexpr uint64_t ring_of_writer = 65536, message_of_writer = 4096;  // bytes

/// A receiver on a simulated machine, on which the sender is the slower side: `after_writes_takes` and
/// `otherwise_takes` are the ticks from one message to the next, if the receiver has written to the line in the lap
/// before, or not.
struct writing_receiver {
  explicit writing_receiver(lci::attr_choice_t rule = lci::attr_choice_t::auto_select) : choice(rule) {}

  lci::network::shm::write_choice_by<read_write_clock> choice;
  uint64_t after_writes_takes = 100, otherwise_takes = 100;
  uint64_t pause = 0;                     // ticks in which the program does something else, after every third message
  bool written_in_lap[2] = {true, true};  // before, now

  /// Receives so many laps of the ring. Returns in how many of them the receiver wrote to the lines.
  int receive(int laps) {
    int written = 0;
    for (int lap = 0; lap < laps; ++lap) {
      written_in_lap[0] = written_in_lap[1];
      written_in_lap[1] = choice.writes();
      written += written_in_lap[1] ? 1 : 0;
      for (uint64_t at = 0; at < ring_of_writer; at += message_of_writer) {
        write_clock += written_in_lap[0] ? after_writes_takes : otherwise_takes;
        if (at / message_of_writer % 3 == 0) write_clock += pause;
        choice.has_read(message_of_writer, ring_of_writer);
      }
    }
    return written;
  }
};

}  // namespace

TEST_CASE("a receiver writes to lines that it has read unless that takes longer", "[write_choice]") {
  writing_receiver receiver;
  receiver.after_writes_takes = 130;
  receiver.receive(64);
  CHECK(receiver.receive(5000) < 60);
  receiver.after_writes_takes = 70;  // as after a move to another core
  receiver.receive(5000);
  CHECK(receiver.receive(10000) > 9900);
}

TEST_CASE("a receiver that gains by writing to lines tries rarely not to", "[write_choice]") {
  writing_receiver receiver;
  receiver.after_writes_takes = 70;
  CHECK(receiver.receive(20000) > 19900);
}

TEST_CASE("pauses of the program do not decide whether a receiver writes to lines", "[write_choice]") {
  writing_receiver receiver;
  receiver.after_writes_takes = 130;
  receiver.pause = 1'000'000'000;
  receiver.receive(64);
  CHECK(receiver.receive(5000) < 60);
}

TEST_CASE("the attribute decides whether a receiver writes to lines", "[write_choice]") {
  writing_receiver always(lci::attr_choice_t::always), never(lci::attr_choice_t::never);
  always.after_writes_takes = never.otherwise_takes = 130;
  CHECK(always.receive(1000) == 1000);
  CHECK(never.receive(1000) == 0);
}
