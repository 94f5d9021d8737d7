// The table that maps handles from the wire to operations: handles that are stale, invented or of another device
// are refused, also while other threads end and reuse operations.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "lib/core/operation/operation.hpp"
#include "tests/support/testing.hpp"

namespace {

using namespace lci::core;

// Devices are identified by their addresses only.
alignas(64) char places[2];
device* const mine = reinterpret_cast<device*>(&places[0]);
device* const other = reinterpret_cast<device*>(&places[1]);

operation* open_one(operation_table& table, awaited_packets awaited) {
  operation* op = table.allocate();
  REQUIRE(op != nullptr);
  op->belong_to(mine);
  op->become(op_state::await_data);
  op->gate.open(awaited);
  return op;
}

void end(operation_table& table, operation* op) {
  CHECK(op->gate.close());
  CHECK(op->gate.leave());
  table.release(op);
}

}  // namespace

TEST_CASE("operation table: an operation is found only by its handle, its device and the right kind of packet") {
  operation_table table;
  operation* op = open_one(table, awaits_data);
  const uint32_t handle = op->handle();
  CHECK(table.enter(mine, handle, awaits_receiver | awaits_acks).op == nullptr);
  CHECK(table.enter(other, handle, awaits_data).op == nullptr);
  CHECK(table.enter(mine, handle + 1, awaits_any).op == nullptr);
  CHECK(table.enter(mine, handle + (1u << 24), awaits_any).op == nullptr);
  CHECK(table.enter(mine, ~0u, awaits_any).op == nullptr);
  const auto visit = table.enter(mine, handle, awaits_data | awaits_receiver);
  REQUIRE(visit.op == op);
  CHECK(visit.kind == awaits_data);
  end(table, op);
  CHECK(table.enter(mine, handle, awaits_any).op == nullptr);
  // The same memory with its next handle.
  operation* next = open_one(table, awaits_data);
  REQUIRE(next == op);
  CHECK(next->handle() != handle);
  CHECK(table.enter(mine, handle, awaits_any).op == nullptr);
  REQUIRE(table.enter(mine, next->handle(), awaits_any).op == next);
  end(table, next);
  CHECK(table.alive() == 0);
}

TEST_CASE("operation table: an operation is reused with another handle, and without what its last user has set") {
  operation_table table;
  operation* op = table.allocate();
  REQUIRE(op != nullptr);
  const auto reused = [&] {
    operation* const next = table.allocate();
    REQUIRE(next == op);
    CHECK(next->comp == nullptr);
    CHECK(next->carrier == nullptr);
    CHECK(next->reg.lkey == 0);
    CHECK_FALSE(next->has_failed());
    CHECK_FALSE((next->in_place || next->allocated || next->registered || next->signals || next->acknowledged));
    CHECK_FALSE((next->acknowledges || next->ordered || next->counted || next->parity || next->named));
    CHECK_FALSE((next->in_window || next->timed || next->shaped || next->allocates));
  };
  std::vector<uint32_t> handles;
  for (int i = 0; i < 256; ++i) {
    // Generations wrap after 256 uses.
    handles.push_back(op->handle());
    CHECK(table.enter(mine, op->handle(), awaits_any).op == nullptr);
    if (i % 2 == 0) {
      op->comp = reinterpret_cast<lci::comp_impl_t*>(&places[0]);
      op->belong_to(mine);
      op->become(op_state::plain_recv);
      CHECK(table.try_release_plain(op));
    } else {
      op->in_place = op->allocated = op->registered = op->signals = op->acknowledged = op->acknowledges = true;
      op->ordered = op->counted = op->parity = op->named = op->in_window = op->timed = op->shaped = true;
      op->allocates = true;
      op->carrier = reinterpret_cast<packet*>(&places[0]);
      op->reg.lkey = 5;
      op->fail_as(failure::fatal);
      op->gate.open(awaits_data);  // a device that is freed releases operations whose gates are open
      table.release(op);
    }
    CHECK(op->doing() == op_state::idle);
    CHECK(table.alive() == 0);
    reused();
    CHECK(table.alive() == 1);
  }
  CHECK(op->handle() == handles[0]);
  std::sort(handles.begin(), handles.end());
  CHECK(std::unique(handles.begin(), handles.end()) == handles.end());
  table.release(op);
}

TEST_CASE("operation table: each operation of a device that can be entered is visited") {
  operation_table table;
  std::vector<operation*> open;
  for (int i = 0; i < 100; ++i) open.push_back(open_one(table, i % 2 ? awaits_data : awaits_acks));
  operation* foreign = open_one(table, awaits_data);
  foreign->belong_to(other);
  operation* closed = table.allocate();
  closed->belong_to(mine);
  int acks = 0, data = 0;
  table.enter_each(mine, [&](operation_table::visit v) {
    ++(v.kind == awaits_acks ? acks : data);
    end(table, v.op);
  });
  CHECK(acks == 50);
  CHECK(data == 50);
  CHECK(table.alive() == 2);
  table.release(closed);
  table.release(foreign);
}

TEST_CASE("operation table: late and invented handles race with reuse, and are refused") {
  operation_table table;
  constexpr int lives = 50000 / lci_test::time_scale;
  std::atomic<uint32_t> latest{0};
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::atomic<uint64_t> inside{0};
  // Packets contain the latest handle, often when it is no longer valid, and numbers close to it.
  const auto packets = [&](bool closes) {
    for (uint32_t i = 0; !over.load(std::memory_order_relaxed); ++i) {
      const uint32_t handle = latest.load(std::memory_order_relaxed) + (i % 8 == 0 ? 1u << 24 : 0);
      const auto [op, kind] = table.enter(mine, handle, awaits_data);
      if (op == nullptr) continue;
      inside.fetch_add(1, std::memory_order_relaxed);
      // Non-atomic memory that the owner wrote before it opened the operation.
      wrong += op->remote_key != handle || op->total != handle;
      if (closes && op->gate.close()) op->fail_as(lci::core::failure::fatal);
      if (op->gate.leave()) {
        op->remote_key = op->total = 0;
        table.release(op);
      }
    }
  };
  std::vector<std::thread> threads;
  for (bool closes : {true, true, false}) threads.emplace_back(packets, closes);
  for (int i = 0; i < lives; ++i) {
    operation* op = table.allocate();
    if (op == nullptr) break;
    const uint32_t handle = op->handle();
    op->remote_key = op->total = handle;
    op->belong_to(mine);
    op->become(op_state::await_data);
    latest.store(handle, std::memory_order_relaxed);
    op->gate.open(awaits_data);
    if (i % 16 == 0) std::this_thread::yield();
    // The owner ends the operation if no packet has done so.
    const auto [own, kind] = table.enter(mine, handle, awaits_data);
    if (own == nullptr) continue;
    (void)own->gate.close();
    if (!own->gate.leave()) continue;
    own->remote_key = own->total = 0;
    table.release(own);
  }
  over = true;
  for (auto& t : threads) t.join();
  CHECK(wrong == 0);
  CHECK(inside > 0);
  CHECK(table.alive() == 0);
}
