#include "bench/lci_perf/session.hpp"

#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/session_state.hpp"

namespace lci_perf {
namespace {

/// Sends a small active message to the partner. `s.index` is its tag.
void tell(side& s, lci::rcomp_t handler, const void* what, size_t size) {
  while (lci::post_am_x(s.partner_rank, what, size, lci::COMP_NULL_RETRY, handler)
             .device(s.to_partner)
             .tag(static_cast<lci::tag_t>(s.index))()
             .is_retry()) {
    s.progress();
  }
}

}  // namespace

void post_ack(side& s, uint64_t count) { tell(s, s.ack_handler, &count, sizeof(count)); }

round_plan session::plan_of(const command& c) const {
  round_plan plan;
  plan.count = c.count;
  plan.size = c.size;
  plan.check = c.check;
  if (is_stream_) {
    plan.window = static_cast<uint64_t>(options_.window);
    plan.batch = plan.window / syncs_per_side;
  }
  return plan;
}

payload_kind session::choose_delivery(side& s, size_t size) const {
  s.to_partner_handler = size <= max_eager_ ? s.to_partner_reader : s.to_partner_owner;
  if (options_.op == op_kind::sendrecv || has_memory(options_.op)) return payload_kind::ours;
  // A message too large for a packet always arrives in allocated memory.
  return options_.zero_copy && size <= max_eager_ ? payload_kind::packet : payload_kind::freed;
}

void session::run() {
  core_count();  // reads the affinity mask before this thread is pinned
  if (options_.processes) return run_or_die([this] { run_processes(); });
  std::vector<std::thread> threads;
  const auto start = [&](int first, void (session::*body)(int)) {
    for (int i = first; i < options_.threads; ++i) {
      threads.emplace_back([this, i, body] { run_or_die([&] { (this->*body)(i); }); });
    }
  };
  // The main thread is the first sender, or, on a rank that only receives, the first receiver.
  if (receives_) start(sends_ ? 0 : 1, &session::receiver_thread);
  if (sends_) start(1, &session::sender_thread);
  run_or_die([&] { sends_ ? lead_senders() : receiver_thread(0); });
  for (std::thread& t : threads) t.join();
}

void session::meet(spin_barrier& barrier, side& s) const {
  if (!options_.dedicated) return barrier.wait();
  barrier.wait([&] { s.progress(); });
}

void session::receiver_thread(int i) {
  bind_thread(options_.bind, 1, options_.threads, i);
  side& s = state.receivers[i];
  for (uint64_t serial = 1;; ++serial) {
    if (i == 0) {
      // C1: pairs with C2
      while (state.commanded.load(std::memory_order_acquire) < serial) s.progress();
      receiver_plan_ = plan_of(state.last_command);
    }
    meet(receiver_barrier_, s);
    const round_plan plan = receiver_plan_;
    if (plan.count == 0) break;
    part(plan).prepare(s, plan);
    meet(receiver_barrier_, s);
    if (i == 0) tell(s, ready_handler_, &serial, sizeof(serial));
    if (i == 0 && !plan.check) handoff_->answer();
    part(plan).receive(s, plan, choose_delivery(s, plan.size));
    meet(receiver_barrier_, s);
  }
}

void session::sender_thread(int i) {
  bind_thread(options_.bind, 0, options_.threads, i);
  side& s = state.senders[i];
  while (true) {
    meet(sender_barrier_, s);
    const round_plan plan = sender_plan_;
    if (plan.count == 0) break;
    part(plan).send(s, plan, choose_delivery(s, plan.size));
    meet(sender_barrier_, s);
  }
}

double session::round(command c) {
  side& s = state.senders[0];
  c.serial = ++serial_;
  tell(s, command_handler_, &c, sizeof(c));
  // C3: pairs with C4
  while (c.count != 0 && state.ready.load(std::memory_order_acquire) < serial_) s.progress();
  sender_plan_ = plan_of(c);
  if (c.count != 0 && !c.check) handoff_->lead();
  meet(sender_barrier_, s);
  if (c.count == 0) return 0;
  const payload_kind payload = choose_delivery(s, c.size);
  const double start = now_seconds();
  part(sender_plan_).send(s, sender_plan_, payload);
  meet(sender_barrier_, s);
  return now_seconds() - start;
}

void session::lead_senders() {
  bind_thread(options_.bind, 0, options_.threads, 0);
  measure_sizes([this](command c) { return round(c); });
}

void session::measure_sizes(const std::function<double(command)>& round) {
  const options& o = options_;
  reporter out(o, ranks_, notes());
  const uint64_t step = is_stream_ ? static_cast<uint64_t>(o.window) : 1;
  for (int i = 0; o.percentiles && i < o.threads; ++i) state.senders[i].log.want();
  const double tick = o.percentiles ? nanoseconds_of_tick() : 0;
  for (const size_t size : o.sizes) {
    round({0, syncs_per_side * plan_of({}).batch, size, true});
    uint64_t n = 0;
    std::vector<double> figures = measure(
        o, step, &n,
        [&](uint64_t count) {
          return round({0, count, size, false});
        },
        [&] {
          for (int i = 0; i < o.threads; ++i) state.senders[i].log.clear();
        });
    double messages = static_cast<double>(n);
    if (is_stream_) messages *= pairs_;
    if (o.metric == metric_kind::bidirectional) messages *= 2;
    for (double& t : figures) t = figure_of(o.metric, t, messages, size);
    result r = {size, figures, handoff_->figures(o.rounds), {}};
    if (o.percentiles) {
      for (int i = 1; i < o.threads; ++i) state.senders[0].log.add(state.senders[i].log);
      r.quantiles = state.senders[0].log.quantiles(tick / 2);
    }
    out.add(r);
  }
  round({});
}

}  // namespace lci_perf
