// Schedules of the gate through which packets reach operations: late and repeated handles against
// the end and the reuse of what they name.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "lib/concurrent/handle_gate.hpp"
#include "tests/model/scheduler.hpp"
#include "tests/support/testing.hpp"

namespace {

using lci_model::atom;
using lci_model::explore;
using lci_model::scheduler;
using lci_model::schedules;

constexpr uint8_t left_door = 1, right_door = 2;

/// How handles were looked up before there was a gate: a look, then the deed.
struct look_then_do {
  explicit look_then_do(uint32_t handle) : handle_(handle) {}
  uint32_t handle() const { return handle_.load(); }
  void reuse(uint32_t handle) { handle_.store(handle); }
  void open(uint8_t door, bool = false) { door_.store(door); }
  template <class May>
  uint8_t enter(uint8_t doors, May may) {
    return may(handle_.load()) ? static_cast<uint8_t>(door_.load() & doors) : uint8_t{0};
  }
  bool close() {
    if (door_.load() == 0) return false;
    door_.store(0);
    return true;
  }
  bool leave() { return door_.load() == 0; }
  atom<uint32_t> handle_;
  atom<uint8_t> door_{0};
};

/// An object with two lives, handles 1 and 2. Whoever owns it writes for a while; `value` is the
/// handle while it is open.
template <class Gate>
struct object {
  Gate gate{1};
  uint32_t value = 1;
  int ends = 0, refusals = 0, visits = 0;

  void end_of_life() {  // by whoever owns it now
    ++ends;
    value = 0;
    scheduler::step();
    if (ends == 1) {
      value = 2;
      gate.reuse(2);
      scheduler::step();
      gate.open(right_door);
    }
  }

  // A packet: visits, and ends the operation if it is told to.
  void packet(uint32_t handle, uint8_t doors, bool ends_it) {
    if (gate.enter(doors, [=](uint32_t h) { return h == handle; }) == 0) {
      ++refusals;
      return;
    }
    ++visits;
    scheduler::check(value == handle, "inside of another one's object");
    scheduler::step();
    scheduler::check(value == handle, "the object was taken away from a visitor");
    if (ends_it) (void)gate.close();
    if (gate.leave()) end_of_life();
  }
};

template <class Gate>
auto two_lives(int packets_each, bool owner_stays) {
  return [=](scheduler& s) -> std::function<std::string()> {
    auto o = std::make_shared<object<Gate>>();
    o->gate.open(left_door, owner_stays);
    if (owner_stays)
      s.spawn([=] {
        scheduler::step();
        scheduler::check(o->value == 1, "the object was taken away from the owner who stayed");
        if (o->gate.leave()) o->end_of_life();
      });
    // Both handles, from several sides at once, each of them more often than it should come.
    for (int i = 0; i < packets_each; ++i) {
      s.spawn([=] { o->packet(1, left_door, true); });
      s.spawn([=] { o->packet(2, right_door, i % 2 == 0); });
    }
    s.spawn([=] { o->packet(1, left_door | right_door, false); });
    s.spawn([=] { o->packet(2, left_door, true); });  // the wrong door
    return [=]() -> std::string {
      if (o->ends == 0) return "the first life did not end";
      if (o->ends > 2) return "ended more often than it lived";
      if (o->visits + o->refusals != 2 * packets_each + 2) return "a packet was lost";
      return o->gate.handle() == 2 ? "" : "the second life has a wrong handle";
    };
  };
}

}  // namespace

TEST_CASE("model: a handle never leads to an object that ends or is used again meanwhile") {
  using gate = lci::handle_gate<atom>;
  CHECK(explore(schedules, two_lives<gate>(1, false)) == "");
  CHECK(explore(schedules, two_lives<gate>(2, false)) == "");
  CHECK(explore(schedules, two_lives<gate>(2, true)) == "");
  CHECK(explore(schedules, two_lives<gate>(3, true)) == "");
}

TEST_CASE("model: the scheduler finds what a look without a gate allows") {
  CHECK(explore(schedules, two_lives<look_then_do>(2, false)) != "");
}

TEST_CASE("model: who opens too late for an announcement notices it") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          struct state {
            lci::handle_gate<atom> gate{1};
            atom<bool> announced{false};
            int ends = 0;
          };
          auto o = std::make_shared<state>();
          const auto end = [=] {
            if (o->gate.enter(left_door, [](uint32_t) { return true; }) == 0) return;
            (void)o->gate.close();
            o->ends += o->gate.leave();
          };
          s.spawn([=] {
            o->announced.store(true);
            end();
          });
          s.spawn([=] {
            o->gate.open(left_door);
            if (o->announced.load()) end();
          });
          return [=]() -> std::string { return o->ends == 1 ? "" : "not ended once"; };
        }) == "");
}
