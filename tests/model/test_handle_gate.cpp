// Schedules of handle_gate, through which packets access operations: late and repeated handles race with
// the end and the reuse of the operation.
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

constexpr uint8_t first_mode = 1, second_mode = 2;

/// The lookup without a gate: it compares the handle and then accesses the object.
struct check_then_access {
  explicit check_then_access(uint32_t handle) : handle_(handle) {}
  uint32_t handle() const { return handle_.load(); }
  void reuse(uint32_t handle) { handle_.store(handle); }
  void open(uint8_t mode, bool = false) { mode_.store(mode); }
  template <class May>
  uint8_t enter(uint8_t modes, May may) {
    return may(handle_.load()) ? static_cast<uint8_t>(mode_.load() & modes) : uint8_t{0};
  }
  bool close() {
    if (mode_.load() == 0) return false;
    mode_.store(0);
    return true;
  }
  bool leave() { return mode_.load() == 0; }
  atom<uint32_t> handle_;
  atom<uint8_t> mode_{0};
};

/// An object that is used twice, with handles 1 and 2. Its owner writes to it for some steps; `value` is
/// the handle while the gate is open.
template <class Gate>
struct object {
  Gate gate{1};
  uint32_t value = 1;
  int ends = 0, refusals = 0, accesses = 0;

  void end_of_use() {  // called by the current owner
    ++ends;
    value = 0;
    scheduler::step();
    if (ends == 1) {
      value = 2;
      gate.reuse(2);
      scheduler::step();
      gate.open(second_mode);
    }
  }

  // A packet: accesses the operation, and ends it if `ends_it`.
  void packet(uint32_t handle, uint8_t modes, bool ends_it) {
    if (gate.enter(modes, [=](uint32_t h) { return h == handle; }) == 0) {
      ++refusals;
      return;
    }
    ++accesses;
    scheduler::check(value == handle, "access to an object with another handle");
    scheduler::step();
    scheduler::check(value == handle, "the object was reused during an access");
    if (ends_it) (void)gate.close();
    if (gate.leave()) end_of_use();
  }
};

template <class Gate>
auto two_uses(int packets_each, bool owner_stays) {
  return [=](scheduler& s) -> std::function<std::string()> {
    auto o = std::make_shared<object<Gate>>();
    o->gate.open(first_mode, owner_stays);
    if (owner_stays)
      s.spawn([=] {
        scheduler::step();
        scheduler::check(o->value == 1, "the object was reused while its owner used it");
        if (o->gate.leave()) o->end_of_use();
      });
    // Packets for both handles from several fibers, each more often than in a correct program.
    for (int i = 0; i < packets_each; ++i) {
      s.spawn([=] { o->packet(1, first_mode, true); });
      s.spawn([=] { o->packet(2, second_mode, i % 2 == 0); });
    }
    s.spawn([=] { o->packet(1, first_mode | second_mode, false); });
    s.spawn([=] { o->packet(2, first_mode, true); });  // the wrong kind of packet
    return [=]() -> std::string {
      if (o->ends == 0) return "the first use did not end";
      if (o->ends > 2) return "ended more often than it was used";
      if (o->accesses + o->refusals != 2 * packets_each + 2) return "a packet was lost";
      return o->gate.handle() == 2 ? "" : "the second use has a wrong handle";
    };
  };
}

}  // namespace

TEST_CASE("model: an object that is found by its handle does not end and is not reused during the access") {
  using gate = lci::handle_gate<atom>;
  CHECK(explore(schedules, two_uses<gate>(1, false)) == "");
  CHECK(explore(schedules, two_uses<gate>(2, false)) == "");
  CHECK(explore(schedules, two_uses<gate>(2, true)) == "");
  CHECK(explore(schedules, two_uses<gate>(3, true)) == "");
}

TEST_CASE("model: the scheduler finds the race of a lookup without a gate") {
  CHECK(explore(schedules, two_uses<check_then_access>(2, false)) != "");
}

TEST_CASE("model: an owner that opens too late for an announcement detects that") {
  CHECK(explore(schedules, [](scheduler& s) -> std::function<std::string()> {
          struct state {
            lci::handle_gate<atom> gate{1};
            atom<bool> announced{false};
            int ends = 0;
          };
          auto o = std::make_shared<state>();
          const auto end = [=] {
            if (o->gate.enter(first_mode, [](uint32_t) { return true; }) == 0) return;
            (void)o->gate.close();
            o->ends += o->gate.leave();
          };
          s.spawn([=] {
            o->announced.store(true);
            end();
          });
          s.spawn([=] {
            o->gate.open(first_mode);
            if (o->announced.load()) end();
          });
          return [=]() -> std::string { return o->ends == 1 ? "" : "not ended once"; };
        }) == "");
}
