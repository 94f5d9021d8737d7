#include "tests/sim/mixed_job.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

namespace sim_test {

namespace {
// A job counts as hung after this number of rounds without an event. All delays of the network are far
// shorter.
constexpr int most_idle_rounds = 20000;
}  // namespace

mixed_job* mixed_job::current = nullptr;

/// A user-defined completion object.
class mixed_job::notified final : public lci::comp_impl_t {
 public:
  explicit notified(std::function<void(const lci::status_t&)> f) : f_(std::move(f)) {}
  void signal(lci::status_t status) override { f_(status); }

 private:
  std::function<void(const lci::status_t&)> f_;
};

void mixed_job::handler_function(lci::status_t status) { current->completed(-1, status); }
void mixed_job::am_handler_function(lci::status_t status) { current->arrived(-1, 2, status); }

mixed_job::mixed_job(const mixed_options& options) : options_(options), random_(options.seed), ranks_(options.ranks) {
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
    rank.am_handler = lci::alloc_handler_x(am_handler_function).runtime(rank.runtime).am_in_place(true)();
    rank.custom_impl = std::make_unique<notified>([this, r](const lci::status_t& s) { completed(r, s); });
    rank.am_custom_impl = std::make_unique<notified>([this, r](const lci::status_t& s) { arrived(r, 3, s); });
    rank.echo_impl = std::make_unique<notified>([this, r](const lci::status_t& s) { arrived(r, 4, s); });
    rank.custom = lci::comp_t(rank.custom_impl.get());
    rank.am_custom = lci::comp_t(rank.am_custom_impl.get());
    rank.echo = lci::comp_t(rank.echo_impl.get());
    for (lci::comp_t c : {rank.am_cq, rank.packet_cq, rank.am_handler, rank.am_custom, rank.echo})
      rank.rcomps.push_back(lci::register_rcomp_x(c).runtime(rank.runtime)());
    for (const size_t window : {4, 64})
      rank.streams.push_back(lci::alloc_stream_x().runtime(rank.runtime).window(window).window_bytes(window * 200)());
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
      d.window_mr =
          lci::register_memory_x(rank.window.data(), rank.window_used + 1).runtime(rank.runtime).device(d.device)();
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
    return std::count_if(operations_.begin(), operations_.end(), [&](const operation& op) { return !finished(op); });
  };
  int idle = 0;
  for (auto left = unfinished(); errors_.empty() && idle < most_idle_rounds; ++round_) {
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
    if (errors_.empty() && !finished(op)) error(op, op.accepted ? "never ended" : "was never accepted");
}

bool mixed_job::try_post(operation& op) {
  prepare(op);
  const int before = op.completions;
  op.attempted = true;
  lci::status_t status;
  try {
    status = post(op);
  } catch (const lci::peer_failure_error& e) {
    if (!involves_dead(op) || e.failed_rank() != op.peer) error(op, std::string("threw: ") + e.what());
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
  if (op.stream >= 0) op.turn = ranks_[op.rank].posted[{op.peer, op.stream}]++;
  op.user_packet = false;  // the library owns the packet now
  if (status.is_done()) {
    if (!op.allow_done && op.how != completion::none) error(op, "said done although not allowed");
    complete(op, status);
  } else if (op.how == completion::none) {
    error(op, "said posted without a completion object");
  }
  return true;
}

// Arguments that need resources, which are allocated once and kept for the next attempt.
void mixed_job::prepare(operation& op) {
  rank_state& rank = ranks_[op.rank];
  if (op.buffer == nullptr) {
    op.memory.assign(op.capacity + guard_size, guard);
    op.buffer = op.memory.data();
    const bool outgoing = op.what != kind::recv && op.what != kind::get && op.what != kind::get_signal;
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
      op.mr =
          lci::register_memory_x(op.buffer, op.capacity).runtime(rank.runtime).device(rank.devices[op.device].device)();
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
  // Arguments of all operations.
#define COMMON                   \
  runtime(rank.runtime)          \
      .device(own.device)        \
      .mr(op.mr)                 \
      .user_context(context)     \
      .allow_done(op.allow_done) \
      .allow_retry(op.allow_retry)
  const lci::rmr_t& window = ranks_[op.peer].devices[op.device].window;
  const lci::rcomp_t target = op.expects_arrival ? ranks_[op.peer].rcomps[op.target_comp] : lci::rcomp_t{0};
  switch (op.what) {
    case kind::am:
    case kind::echo:
      return lci::post_am_x(op.peer, op.buffer, op.size, op.comp, target)
          .COMMON.tag(op.id)
          .comp_semantic(op.semantic)
          .stream(op.stream < 0 ? lci::stream_t() : rank.streams[op.stream])();
    case kind::send:
      return lci::post_send_x(op.peer, op.buffer, op.size, op.tag, op.comp)
          .COMMON.matching_policy(op.policy)
          .comp_semantic(op.semantic)();
    case kind::recv: {
      // Half of the receives that can be expressed by a wildcard use it.
      const bool wildcard = op.id % 2 == 0;
      const bool any_rank = (static_cast<int>(op.policy) & 1) == 0;
      const bool any_tag = (static_cast<int>(op.policy) & 2) == 0;
      return lci::post_recv_x(wildcard && any_rank ? lci::ANY_SOURCE : op.peer, op.buffer, op.capacity,
                              wildcard && any_tag ? lci::ANY_TAG : op.tag, op.comp)
          .COMMON.matching_policy(op.policy)();
    }
    case kind::put:
    case kind::put_signal:
      return lci::post_put_x(op.peer, op.buffer, op.size, op.comp, op.slice, window)
          .COMMON.tag(op.id)
          .remote_comp(target)();
    case kind::get:
      if (op.atomic)
        return lci::post_atomic_x(op.peer, lci::atomic_op_t::fetch, nullptr, op.buffer, op.comp, op.slice, window)
            .runtime(rank.runtime)
            .device(own.device)
            .user_context(context)
            .allow_done(op.allow_done)
            .allow_retry(op.allow_retry)();
      [[fallthrough]];
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
        lci::status_t status(lci::errorcode_t::done);  // a counter stores no status
        status.user_context = nullptr;
        complete(op, status);
      }
    }
  }
}

// --- errors ---

void mixed_job::error(const operation& op, const std::string& what) { error(text(op) + " " + what); }

void mixed_job::error(const std::string& what) {
  if (errors_.size() < 20) errors_.push_back(what);
}

std::string mixed_job::text(const operation& op) const {
  static const char* const names[] = {"am", "echo", "send", "recv", "put", "put_signal", "get", "get_signal"};
  std::ostringstream s;
  s << names[static_cast<int>(op.what)] << " #" << op.id << " (rank " << op.rank << ", peer " << op.peer << ", device "
    << op.device << ", " << op.size << " bytes of " << op.capacity << ", policy " << static_cast<int>(op.policy)
    << ", tag " << op.tag << ", completion " << static_cast<int>(op.how) << (op.allow_done ? "" : ", not done")
    << (op.allow_retry ? "" : ", not retry") << (op.atomic ? ", atomic" : "")
    << (op.stream < 0 ? "" : ", stream " + std::to_string(op.stream))
    << (op.semantic == lci::comp_semantic_t::memory ? "" : ", ")
    << (op.semantic == lci::comp_semantic_t::memory ? "" : lci::to_string(op.semantic))
    << (op.mr.is_empty() ? "" : ", registered") << ")";
  return s.str();
}

}  // namespace sim_test
