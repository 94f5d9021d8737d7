// The checks of a mixed job: of operations while they run, and of ranks at the end.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "tests/sim/mixed_job.hpp"

namespace sim_test {

// --- while operations run ---

void mixed_job::completed(int rank, const lci::status_t& status) {
  auto* op = static_cast<operation*>(status.user_context);
  if (op == nullptr) return error("a completion without its user_context");
  if (rank >= 0 && op->rank != rank) error(*op, "completed at rank " + std::to_string(rank));
  complete(*op, status);
}

void mixed_job::complete(operation& op, const lci::status_t& status) {
  if (++op.completions > 1) return error(op, "completed more than once");
  if (!status.is_done()) {
    if (!involves_dead(op) || status.error != lci::errorcode_t::fatal)
      error(op, std::string("ended as ") + status.error.get_str());
    return release_buffer(op);
  }
  if (op.how == completion::counter && involves_dead(op)) return release_buffer(op);
  const bool has_status = status.user_context != nullptr;
  if (has_status && status.user_context != &op) error(op, "has another one's user_context");
  if (op.what == kind::recv) {
    check_received(op, status);
  } else if (op.what == kind::get || op.what == kind::get_signal) {
    if (op.size > 0 && std::memcmp(op.buffer, payload_of(op.id, op.size).data(), op.size) != 0)
      error(op, "got other bytes");
  }
  if (has_status && op.what != kind::recv) {
    if (status.rank != op.peer) error(op, "names rank " + std::to_string(status.rank));
    if (status.size != op.size) error(op, "names size " + std::to_string(status.size));
    if (!op.atomic && status.tag != op.tag) error(op, "names tag " + std::to_string(status.tag));
  }
  release_buffer(op);
}

void mixed_job::check_received(operation& op, const lci::status_t& status) {
  const bool by_tag = (static_cast<int>(op.policy) & 2) != 0;
  const bool by_rank = (static_cast<int>(op.policy) & 1) != 0;
  if (status.user_context == nullptr) {  // identify the operation by other fields, if possible
    if (!by_tag) return;
  } else if (!by_tag && status.tag >= operations_.size()) {
    return error(op, "names tag " + std::to_string(status.tag));
  }
  operation& send = operations_[by_tag ? op.tag : status.tag];
  if (send.what != kind::send || send.peer != op.rank || send.policy != op.policy || (by_rank && send.rank != op.peer))
    return error(op, "matched " + text(send));
  if (!by_tag && ++send.arrivals > 1) error(send, "was received twice");
  const size_t size = std::min(send.size, op.capacity);
  if (size > 0 && std::memcmp(op.buffer, payload_of(send.id, send.size).data(), size) != 0)
    error(op, "received other bytes than " + text(send) + " sent");
  if (status.user_context == nullptr) return;
  const auto code = send.size > op.capacity ? lci::errorcode_t::done_truncated : lci::errorcode_t::done;
  if (status.error != code) error(op, std::string("ended as ") + status.error.get_str());
  if (status.size != size) error(op, "names size " + std::to_string(status.size));
  if (status.rank != send.rank) error(op, "names rank " + std::to_string(status.rank));
  if (status.tag != send.tag) error(op, "names tag " + std::to_string(status.tag));
  if (status.buffer != op.buffer) error(op, "names another buffer");
}

// The operation has ended, so the user may write the buffer, and does so at once.
void mixed_job::release_buffer(operation& op) {
  if (!std::all_of(op.memory.end() - (op.memory.empty() ? 0 : guard_size), op.memory.end(),
                   [](std::byte b) { return b == guard; }))
    error(op, "wrote behind the buffer");
  std::fill(op.memory.begin(), op.memory.end(), std::byte{0});
  if (!op.mr.is_empty()) lci::deregister_memory_x(&op.mr).runtime(ranks_[op.rank].runtime)();
}

void mixed_job::arrived(int rank, int target_comp, const lci::status_t& status) {
  if (status.tag >= operations_.size()) return error("an arrival with an unknown tag");
  operation& op = operations_[status.tag];
  if (!op.expects_arrival || op.target_comp != target_comp || (rank >= 0 && rank != op.peer))
    return error(op, "arrived at the wrong place");
  if (++op.arrivals > 1) error(op, "arrived more than once");
  if (status.rank != op.rank) error(op, "arrived from rank " + std::to_string(status.rank));
  if (status.size != op.size) error(op, "arrived with size " + std::to_string(status.size));
  if (op.stream >= 0) {
    const uint64_t turn = ranks_[op.peer].delivered[{op.rank, op.stream}]++;
    if (turn != op.turn)
      error(op, "had turn " + std::to_string(op.turn) + ", but was delivered in turn " + std::to_string(turn));
  }
  if (op.what == kind::am || op.what == kind::echo) {
    if (op.size > 0 && std::memcmp(status.buffer, payload_of(op.id, op.size).data(), op.size) != 0)
      error(op, "arrived with other bytes");
    if (target_comp == 1) {
      if (status.buffer != nullptr) lci::put_upacket_x(status.buffer).runtime(ranks_[op.peer].runtime)();
    } else if (target_comp != 2) {
      std::free(status.buffer);
    }
  } else {
    const std::byte* expected = &ranks_[op.peer].window[op.slice];
    if (status.buffer != expected) error(op, "signals another address");
    if (op.what == kind::put_signal && op.size > 0 &&
        std::memcmp(expected, payload_of(op.id, op.size).data(), op.size) != 0)
      error(op, "was signalled before its data had arrived");
  }
  if (op.what == kind::echo) {
    operation& answer = operations_[op.id + 1];
    if (!try_post(answer)) error(answer, "was refused inside a completion object");
  }
}

bool mixed_job::finished(const operation& op) const {
  // The dead rank makes no progress until it continues alone.
  if (is_dead(op.rank) && !isolated_) return true;
  if (involves_dead(op)) {
    if (op.rank == options_.victim || op.what == kind::recv) return true;
    if (op.is_answer && !op.attempted) return true;
    return op.accepted && op.completions > 0;
  }
  if (!op.accepted || op.completions == 0) return false;
  return !op.expects_arrival || op.arrivals > 0;
}

// --- at the end ---

void mixed_job::tear_down() {
  // Surplus events would arrive now.
  for (int i = 0; i < 200; ++i)
    for (int r = 0; r < options_.ranks; ++r) step(r);
  check_operations_at_end();
  for (int r = 0; r < options_.ranks; ++r) check_rank_at_end(r);
  for (int r = 0; r < options_.ranks; ++r) free_rank(r);
  for (const std::string& v : world_->violations()) error("contract violated: " + v);
  const auto stats = world_->stats();
  if (stats.in_flight != 0) error("messages are left in the network");
  if (stats.registrations != 0) error("memory is still registered");
  if (stats.devices != 0) error("devices are left");
}

void mixed_job::check_operations_at_end() {
  for (operation& op : operations_) {
    if (op.how == completion::counter && !op.comp.is_empty()) {
      const int64_t n = lci::counter_get_x(op.comp).runtime(ranks_[op.rank].runtime)();
      if (n > 1) error(op, "was counted " + std::to_string(n) + " times");
    }
    if ((op.what == kind::put || op.what == kind::put_signal) && !involves_dead(op)) {
      const auto data = payload_of(op.id, op.size);
      if (!std::equal(data.begin(), data.end(), ranks_[op.peer].window.begin() + op.slice))
        error(op, "left other bytes at its target");
    }
  }
}

void mixed_job::check_rank_at_end(int r) {
  rank_state& rank = ranks_[r];
  for (size_t i = rank.window_used; i < rank.window.size(); ++i)
    if (rank.window[i] != guard) error("a byte behind a window was written");
  for (auto& d : rank.devices) {
    const lci::error_t e = lci::test_drained_x().runtime(rank.runtime).device(d.device).receives(false)();
    if (!e.is_done()) error("rank " + std::to_string(r) + " is not drained");
  }
  // At a rank that dies an operation may fail before the answer arrives that its peer had sent.
  if (rank.runtime.p_impl->rejected_packets.load(std::memory_order_relaxed) != 0 && !is_dead(r))
    error("rank " + std::to_string(r) + " has rejected packets");
  // The only remaining operations are receives from a rank that can't send any more.
  const auto orphans =
      static_cast<size_t>(std::count_if(operations_.begin(), operations_.end(), [&](const operation& op) {
        return op.rank == r && op.accepted && op.completions == 0 && involves_dead(op);
      }));
  if (const size_t n = rank.runtime.p_impl->operations.alive(); n != orphans)
    error("rank " + std::to_string(r) + " has " + std::to_string(n) + " operations, but " + std::to_string(orphans) +
          " orphans");
}

void mixed_job::free_rank(int r) {
  rank_state& rank = ranks_[r];
  for (operation& op : operations_) {
    if (op.rank != r) continue;
    if (!op.mr.is_empty()) lci::deregister_memory_x(&op.mr).runtime(rank.runtime)();
    if (op.user_packet && op.buffer != nullptr && op.buffer != op.memory.data())
      lci::put_upacket_x(op.buffer).runtime(rank.runtime)();
  }
  for (auto& d : rank.devices) {
    lci::deregister_memory_x(&d.window_mr).runtime(rank.runtime)();
    lci::free_device_x(&d.device).runtime(rank.runtime)();
  }
  const lci::core::packet_pool& pool = *rank.runtime.p_impl->default_packet_pool.p_impl;
  if (pool.home() != options_.npackets)
    error("rank " + std::to_string(r) + " has lost " + std::to_string(options_.npackets - pool.home()) + " packets");
  for (operation& op : operations_)
    if (op.rank == r && (op.how == completion::counter || op.how == completion::sync) && !op.comp.is_empty())
      lci::free_comp_x(&op.comp).runtime(rank.runtime)();
  for (lci::stream_t& s : rank.streams) lci::free_stream_x(&s).runtime(rank.runtime)();
  for (lci::rcomp_t c : rank.rcomps) lci::deregister_rcomp_x(c).runtime(rank.runtime)();
  for (lci::comp_t* c : {&rank.cq, &rank.am_cq, &rank.packet_cq, &rank.handler, &rank.am_handler})
    lci::free_comp_x(c).runtime(rank.runtime)();
  lci::free_runtime_x (&rank.runtime)();
}

}  // namespace sim_test
