#include "tests/sim/mixed_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "lib/core/packet_pool.hpp"
#include "lib/core/runtime.hpp"

namespace sim_test {

namespace {
constexpr std::byte guard{0xa5};
constexpr size_t guard_size = 16;
// Rounds without any event after which a job counts as hung. All of the network's delays are far
// shorter.
constexpr int patience = 20000;
}  // namespace

mixed_job* mixed_job::current = nullptr;

/// A completion object of our own.
class mixed_job::notified final : public lci::comp_impl_t {
 public:
  explicit notified(std::function<void(const lci::status_t&)> f) : f_(std::move(f)) {}
  void signal(lci::status_t status) override { f_(status); }

 private:
  std::function<void(const lci::status_t&)> f_;
};

void mixed_job::handler_function(lci::status_t status) { current->completed(-1, status); }
void mixed_job::am_handler_function(lci::status_t status) { current->arrived(-1, 2, status); }

mixed_job::mixed_job(const mixed_options& options)
    : options_(options), random_(options.seed), ranks_(options.ranks) {
  current = this;
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_ranks = static_cast<size_t>(options.ranks);
  attr.sim_seed = options.seed;
  attr.sim_max_delay = options.max_delay;
  attr.sim_retry_percent = options.retry_percent;
  attr.sim_max_poll = options.max_poll;
  attr.sim_max_inject = options.max_inject;
  attr.sim_preposted_recvs = options.preposted;
  attr.sim_rma = options.rma;
  attr.packet_size = options.packet_size;
  attr.npackets = options.npackets;
  attr.net_max_sends = options.max_sends;
  attr.net_max_recvs = options.max_recvs;
  attr.rdv_threshold = options.rdv_threshold;
  attr.rdv_chunk_size = options.rdv_chunk;
  attr.rdv_protocol = options.protocol;
  attr.max_msg_size = options.max_msg_size;
  attr.matching_engine_type = options.matching;
  attr.alloc_default_device = false;
  lci::set_g_default_attr(attr);
  for (int r = 0; r < options.ranks; ++r) {
    rank_state& rank = ranks_[r];
    rank.runtime = lci::alloc_runtime_x()();
    rank.devices.resize(options.devices);
    for (auto& d : rank.devices) d.device = lci::alloc_device_x().runtime(rank.runtime)();
    rank.cq = lci::alloc_cq_x().runtime(rank.runtime)();
    rank.am_cq = lci::alloc_cq_x().runtime(rank.runtime)();
    rank.packet_cq = lci::alloc_cq_x().runtime(rank.runtime).zero_copy_am(true)();
    rank.handler = lci::alloc_handler_x(handler_function).runtime(rank.runtime)();
    rank.am_handler =
        lci::alloc_handler_x(am_handler_function).runtime(rank.runtime).am_in_place(true)();
    rank.custom_impl =
        std::make_unique<notified>([this, r](const lci::status_t& s) { completed(r, s); });
    rank.am_custom_impl =
        std::make_unique<notified>([this, r](const lci::status_t& s) { arrived(r, 3, s); });
    rank.echo_impl =
        std::make_unique<notified>([this, r](const lci::status_t& s) { arrived(r, 4, s); });
    rank.custom = lci::comp_t(rank.custom_impl.get());
    rank.am_custom = lci::comp_t(rank.am_custom_impl.get());
    rank.echo = lci::comp_t(rank.echo_impl.get());
    for (lci::comp_t c : {rank.am_cq, rank.packet_cq, rank.am_handler, rank.am_custom, rank.echo})
      rank.rcomps.push_back(lci::register_rcomp_x(c).runtime(rank.runtime)());
  }
  lci::set_g_default_attr(before);
  world_ = lci::network::sim::world::current();

  eager_size_ = lci::get_max_bcopy_size_x().runtime(ranks_[0].runtime)();
  if (options.rdv_threshold > 0) eager_size_ = std::min(eager_size_, options.rdv_threshold);
  inject_size_ = options.max_inject > 16 ? options.max_inject - 16 : 0;
  plan();
  for (int r = 0; r < options.ranks; ++r) {
    rank_state& rank = ranks_[r];
    rank.window.assign(rank.window_used + guard_size, guard);
    for (auto& d : rank.devices) {
      d.window_mr = lci::register_memory_x(rank.window.data(), rank.window_used + 1)
                        .runtime(rank.runtime)
                        .device(d.device)();
      d.window = lci::get_rmr_x(d.window_mr).runtime(rank.runtime)();
    }
  }
  for (const operation& op : operations_)
    if (op.what == kind::get || op.what == kind::get_signal) {
      const auto data = payload_of(op.id, op.size);
      std::copy(data.begin(), data.end(), ranks_[op.peer].window.begin() + op.slice);
    }
}

mixed_job::~mixed_job() { current = nullptr; }

const std::vector<std::string>& mixed_job::run() {
  try {
    for (operation& op : operations_)
      if (!op.is_answer) waiting_.push_back(&op);
    drive();
    if (errors_.empty() && options_.victim >= 0) {
      if (ranks_[options_.victim].alive) kill_victim();
      isolate_victim();
      drive();
      if (errors_.empty()) check_death_is_known();
    }
    if (errors_.empty()) tear_down();
  } catch (const std::exception& e) {
    error(std::string("unexpected exception: ") + e.what());
  }
  return errors_;
}

void mixed_job::drive() {
  const auto unfinished = [&] {
    return std::count_if(operations_.begin(), operations_.end(),
                         [&](const operation& op) { return !finished(op); });
  };
  int idle = 0;
  for (auto left = unfinished(); errors_.empty() && idle < patience; ++round_) {
    if (waiting_.empty() && left == 0 && (!isolated_ || settled())) return;
    if (round_ == options_.killed_after && options_.victim >= 0) kill_victim();
    // A handful of posts, in an order that is only roughly the planned one, then some progress.
    for (uint64_t n = random_.up_to(4); n > 0 && !waiting_.empty(); --n) {
      const size_t i = random_.up_to(std::min<size_t>(waiting_.size(), 20) - 1);
      if (try_post(*waiting_[i])) waiting_.erase(waiting_.begin() + i);
    }
    for (int r = 0; r < options_.ranks; ++r) step(r);
    const auto before = std::exchange(left, unfinished());
    idle = left == before ? idle + 1 : 0;
  }
  for (const operation& op : operations_)
    if (errors_.empty() && !finished(op))
      error(op, op.accepted ? "never ended" : "was never accepted");
}

bool mixed_job::try_post(operation& op) {
  prepare(op);
  const int before = op.completions;
  op.attempted = true;
  lci::status_t status;
  try {
    status = post(op);
  } catch (const lci::peer_failure_error& e) {
    if (!involves_dead(op) || e.failed_rank() != op.peer)
      error(op, std::string("threw: ") + e.what());
    op.accepted = true;
    op.completions += 1;
    release_buffer(op);
    return true;
  }
  if (status.is_retry()) {
    if (!op.allow_retry) error(op, std::string("was answered ") + status.error.get_str());
    if (op.completions != before) error(op, "was refused, but completed");
    return false;
  }
  op.accepted = true;
  op.user_packet = false;  // the library has it now
  if (status.is_done()) {
    if (!op.allow_done && op.how != completion::none) error(op, "said done although not allowed");
    complete(op, status);
  } else if (op.how == completion::none) {
    error(op, "said posted without a completion object");
  }
  return true;
}

// Arguments that need resources: made once, kept for the next attempt.
void mixed_job::prepare(operation& op) {
  rank_state& rank = ranks_[op.rank];
  if (op.buffer == nullptr) {
    op.memory.assign(op.capacity + guard_size, guard);
    op.buffer = op.memory.data();
    const bool outgoing =
        op.what != kind::recv && op.what != kind::get && op.what != kind::get_signal;
    if (outgoing) {
      const auto data = payload_of(op.id, op.size);
      std::copy(data.begin(), data.end(), op.memory.begin());
    }
    if (op.user_packet) {
      void* p = lci::get_upacket_x().runtime(rank.runtime)();
      if (p != nullptr) {
        if (op.size > 0) std::memcpy(p, op.memory.data(), op.size);
        op.buffer = p;
      }
    } else if (op.capacity > 0 && random_.percent(20)) {
      op.mr = lci::register_memory_x(op.buffer, op.capacity)
                  .runtime(rank.runtime)
                  .device(rank.devices[op.device].device)();
    }
    op.comp = local_comp(op);
  }
}

lci::comp_t mixed_job::local_comp(operation& op) {
  rank_state& rank = ranks_[op.rank];
  switch (op.how) {
    case completion::cq:
      return rank.cq;
    case completion::sync:
      return lci::alloc_sync_x().runtime(rank.runtime)();
    case completion::counter:
      return lci::alloc_counter_x().runtime(rank.runtime)();
    case completion::handler:
      return rank.handler;
    case completion::custom:
      return rank.custom;
    case completion::none:
      return lci::COMP_NULL_RETRY;
  }
  return {};
}

lci::status_t mixed_job::post(operation& op) {
  rank_state& rank = ranks_[op.rank];
  device_state& own = rank.devices[op.device];
  void* context = &op;
  // All the operations take these.
#define COMMON                   \
  runtime(rank.runtime)          \
      .device(own.device)        \
      .mr(op.mr)                 \
      .user_context(context)     \
      .allow_done(op.allow_done) \
      .allow_retry(op.allow_retry)
  const lci::rmr_t& window = ranks_[op.peer].devices[op.device].window;
  const lci::rcomp_t target =
      op.expects_arrival ? ranks_[op.peer].rcomps[op.target_comp] : lci::rcomp_t{0};
  switch (op.what) {
    case kind::am:
    case kind::echo:
      return lci::post_am_x(op.peer, op.buffer, op.size, op.comp, target).COMMON.tag(op.id)();
    case kind::send:
      return lci::post_send_x(op.peer, op.buffer, op.size, op.tag, op.comp)
          .COMMON.matching_policy(op.policy)();
    case kind::recv: {
      // Half of the receives that may say so by a wildcard do.
      const bool wildcard = op.id % 2 == 0;
      const bool any_rank = (static_cast<int>(op.policy) & 1) == 0;
      const bool any_tag = (static_cast<int>(op.policy) & 2) == 0;
      return lci::post_recv_x(wildcard && any_rank ? lci::ANY_SOURCE : op.peer, op.buffer,
                              op.capacity, wildcard && any_tag ? lci::ANY_TAG : op.tag, op.comp)
          .COMMON.matching_policy(op.policy)();
    }
    case kind::put:
    case kind::put_signal:
      return lci::post_put_x(op.peer, op.buffer, op.size, op.comp, op.slice, window)
          .COMMON.tag(op.id)
          .remote_comp(target)();
    case kind::get:
    case kind::get_signal:
      return lci::post_get_x(op.peer, op.buffer, op.size, op.comp, op.slice, window)
          .COMMON.tag(op.id)
          .remote_comp(target)();
  }
#undef COMMON
  return {};
}

void mixed_job::step(int r) {
  rank_state& rank = ranks_[r];
  if (!rank.alive && !isolated_) return;
  for (auto& d : rank.devices) {
    if (random_.percent(20)) continue;
    try {
      (void)lci::progress_x().runtime(rank.runtime).device(d.device)();
    } catch (const lci::peer_failure_error& e) {
      d.failures += 1;
      const bool expected = rank.alive ? e.failed_rank() == options_.victim && d.failures == 1
                                       : e.failed_rank() != r && d.failures < options_.ranks;
      if (!expected) error("progress of rank " + std::to_string(r) + " threw: " + e.what());
    }
  }
  poll_completions(r);
}

void mixed_job::poll_completions(int r) {
  rank_state& rank = ranks_[r];
  const auto drain = [&](lci::comp_t cq, auto handle) {
    for (;;) {
      const lci::status_t status = lci::cq_pop_x(cq).runtime(rank.runtime)();
      if (status.is_retry()) return;
      handle(status);
    }
  };
  drain(rank.cq, [&](const lci::status_t& s) { completed(r, s); });
  drain(rank.am_cq, [&](const lci::status_t& s) { arrived(r, 0, s); });
  drain(rank.packet_cq, [&](const lci::status_t& s) { arrived(r, 1, s); });
  for (operation& op : operations_) {
    if (op.rank != r || !op.accepted || op.completions > 0) continue;
    if (op.how == completion::sync) {
      lci::status_t status;
      if (lci::sync_test_x(op.comp, &status).runtime(rank.runtime)()) complete(op, status);
    } else if (op.how == completion::counter) {
      if (lci::counter_get_x(op.comp).runtime(rank.runtime)() > 0) {
        lci::status_t status(lci::errorcode_t::done);  // a counter keeps none
        status.user_context = nullptr;
        complete(op, status);
      }
    }
  }
}

// --- what happens ---

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
    if (status.tag != op.tag) error(op, "names tag " + std::to_string(status.tag));
  }
  release_buffer(op);
}

void mixed_job::check_received(operation& op, const lci::status_t& status) {
  const bool by_tag = (static_cast<int>(op.policy) & 2) != 0;
  const bool by_rank = (static_cast<int>(op.policy) & 1) != 0;
  if (status.user_context == nullptr) {  // counted only: find out what it was, where possible
    if (!by_tag) return;
  } else if (!by_tag && status.tag >= operations_.size()) {
    return error(op, "names tag " + std::to_string(status.tag));
  }
  operation& send = operations_[by_tag ? op.tag : status.tag];
  if (send.what != kind::send || send.peer != op.rank || send.policy != op.policy ||
      (by_rank && send.rank != op.peer))
    return error(op, "met " + text(send));
  if (!by_tag && ++send.arrivals > 1) error(send, "was received twice");
  const size_t size = std::min(send.size, op.capacity);
  if (size > 0 && std::memcmp(op.buffer, payload_of(send.id, send.size).data(), size) != 0)
    error(op, "received other bytes than " + text(send) + " sent");
  if (status.user_context == nullptr) return;
  const auto code =
      send.size > op.capacity ? lci::errorcode_t::done_truncated : lci::errorcode_t::done;
  if (status.error != code) error(op, std::string("ended as ") + status.error.get_str());
  if (status.size != size) error(op, "names size " + std::to_string(status.size));
  if (status.rank != send.rank) error(op, "names rank " + std::to_string(status.rank));
  if (status.tag != send.tag) error(op, "names tag " + std::to_string(status.tag));
  if (status.buffer != op.buffer) error(op, "names another buffer");
}

// From here on the buffer is the user's again, who uses it at once.
void mixed_job::release_buffer(operation& op) {
  if (!std::all_of(op.memory.end() - (op.memory.empty() ? 0 : guard_size), op.memory.end(),
                   [](std::byte b) { return b == guard; }))
    error(op, "wrote behind the buffer");
  std::fill(op.memory.begin(), op.memory.end(), std::byte{0});
  if (!op.mr.is_empty()) lci::deregister_memory_x(&op.mr).runtime(ranks_[op.rank].runtime)();
}

void mixed_job::arrived(int rank, int target_comp, const lci::status_t& status) {
  if (status.tag >= operations_.size()) return error("an arrival with a strange tag");
  operation& op = operations_[status.tag];
  if (!op.expects_arrival || op.target_comp != target_comp || (rank >= 0 && rank != op.peer))
    return error(op, "arrived at the wrong place");
  if (++op.arrivals > 1) error(op, "arrived more than once");
  if (status.rank != op.rank) error(op, "arrived from rank " + std::to_string(status.rank));
  if (status.size != op.size) error(op, "arrived with size " + std::to_string(status.size));
  if (op.what == kind::am || op.what == kind::echo) {
    if (op.size > 0 && std::memcmp(status.buffer, payload_of(op.id, op.size).data(), op.size) != 0)
      error(op, "arrived with other bytes");
    if (target_comp == 1) {
      if (status.buffer != nullptr)
        lci::put_upacket_x(status.buffer).runtime(ranks_[op.peer].runtime)();
    } else if (target_comp != 2) {
      std::free(status.buffer);
    }
  } else {
    const std::byte* expected = &ranks_[op.peer].window[op.slice];
    if (status.buffer != expected) error(op, "signals another address");
    if (op.what == kind::put_signal && op.size > 0 &&
        std::memcmp(expected, payload_of(op.id, op.size).data(), op.size) != 0)
      error(op, "was signalled before its data had landed");
  }
  if (op.what == kind::echo) {
    operation& answer = operations_[op.id + 1];
    if (!try_post(answer)) error(answer, "was refused inside a completion object");
  }
}

bool mixed_job::finished(const operation& op) const {
  // The dead rank stands still until it goes on alone.
  if (is_dead(op.rank) && !isolated_) return true;
  if (involves_dead(op)) {
    if (op.rank == options_.victim || op.what == kind::recv) return true;
    if (op.is_answer && !op.attempted) return true;
    return op.accepted && op.completions > 0;
  }
  if (!op.accepted || op.completions == 0) return false;
  return !op.expects_arrival || op.arrivals > 0;
}

// --- death ---

bool mixed_job::is_dead(int rank) const {
  return rank == options_.victim && !ranks_[rank].alive;
}

// A rank's operations with itself don't notice.
bool mixed_job::involves_dead(const operation& op) const {
  return op.rank != op.peer && (is_dead(op.rank) || is_dead(op.peer));
}

void mixed_job::kill_victim() {
  world_->kill(options_.victim);
  ranks_[options_.victim].alive = false;
  std::erase_if(waiting_, [&](operation* op) { return op->rank == options_.victim; });
}

// To itself, the victim is the one that is left: all others have failed. What it has to do with
// itself must end as ever, above all before its resources are taken away.
void mixed_job::isolate_victim() {
  isolated_ = true;
  for (operation& op : operations_)
    if (op.rank == options_.victim && op.peer == options_.victim && !op.accepted && !op.is_answer)
      waiting_.push_back(&op);
}

bool mixed_job::settled() const {
  for (int r = 0; r < options_.ranks; ++r)
    for (const device_state& d : ranks_[r].devices) {
      if (d.failures != expected_failures(r)) return false;
      if (!lci::test_drained_x().runtime(ranks_[r].runtime).device(d.device)().is_done())
        return false;
    }
  return true;
}

int mixed_job::expected_failures(int rank) const {
  return rank == options_.victim ? options_.ranks - 1 : 1;
}

void mixed_job::check_death_is_known() {
  for (int r = 0; r < options_.ranks; ++r) {
    for (auto& d : ranks_[r].devices) {
      if (d.failures != expected_failures(r))
        error("rank " + std::to_string(r) + " was told of " + std::to_string(d.failures) +
              " failures");
      if (r == options_.victim) continue;
      try {
        (void)lci::post_am_x(options_.victim, nullptr, 0, lci::COMP_NULL_RETRY, 1)
            .runtime(ranks_[r].runtime)
            .device(d.device)();
        error("a post to a dead rank was accepted");
      } catch (const lci::peer_failure_error& e) {
        if (e.failed_rank() != options_.victim) error(std::string("wrong rank: ") + e.what());
      }
    }
  }
}

// --- the end ---

void mixed_job::tear_down() {
  // Whatever is too much would still come now.
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
    if (rank.window[i] != guard) error("somebody wrote behind a window");
  for (auto& d : rank.devices) {
    const lci::error_t e = lci::test_drained_x().runtime(rank.runtime).device(d.device)();
    if (!e.is_done()) error("rank " + std::to_string(r) + " is not drained");
  }
  if (rank.runtime.p_impl->rejected_packets.load(std::memory_order_relaxed) != 0)
    error("rank " + std::to_string(r) + " has rejected packets");
  // Only receives from a rank that can't send any more are left.
  const auto orphans = static_cast<size_t>(std::count_if(
      operations_.begin(), operations_.end(), [&](const operation& op) {
        return op.rank == r && op.accepted && op.completions == 0 && involves_dead(op);
      }));
  if (const size_t n = rank.runtime.p_impl->operations.alive(); n != orphans)
    error("rank " + std::to_string(r) + " has " + std::to_string(n) + " operations, but " +
          std::to_string(orphans) + " orphans");
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
    error("rank " + std::to_string(r) + " has lost " +
          std::to_string(options_.npackets - pool.home()) + " packets");
  for (operation& op : operations_)
    if (op.rank == r && (op.how == completion::counter || op.how == completion::sync) &&
        !op.comp.is_empty())
      lci::free_comp_x(&op.comp).runtime(rank.runtime)();
  for (lci::rcomp_t c : rank.rcomps) lci::deregister_rcomp_x(c).runtime(rank.runtime)();
  for (lci::comp_t* c : {&rank.cq, &rank.am_cq, &rank.packet_cq, &rank.handler, &rank.am_handler})
    lci::free_comp_x(c).runtime(rank.runtime)();
  lci::free_runtime_x (&rank.runtime)();
}

void mixed_job::error(const operation& op, const std::string& what) {
  error(text(op) + " " + what);
}

void mixed_job::error(const std::string& what) {
  if (errors_.size() < 20) errors_.push_back(what);
}

std::string mixed_job::text(const operation& op) const {
  static const char* const names[] = {"am",  "echo",       "send", "recv",
                                      "put", "put_signal", "get",  "get_signal"};
  std::ostringstream s;
  s << names[static_cast<int>(op.what)] << " #" << op.id << " (rank " << op.rank << ", peer "
    << op.peer << ", device " << op.device << ", " << op.size << " bytes of " << op.capacity
    << ", policy " << static_cast<int>(op.policy) << ", tag " << op.tag << ", completion "
    << static_cast<int>(op.how) << (op.allow_done ? "" : ", not done")
    << (op.allow_retry ? "" : ", not retry") << (op.mr.is_empty() ? "" : ", registered") << ")";
  return s.str();
}

}  // namespace sim_test
