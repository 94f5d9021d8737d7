#include "bench/lci_perf/session.hpp"

#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/session_state.hpp"

namespace lci_perf {
namespace {

/// A small active message to the leader of the other side, on the first pair's device.
void tell(seat& s, lci::rcomp_t handler, const void* what, size_t size) {
  while (lci::post_am_x(s.partner_rank, what, size, lci::COMP_NULL_RETRY, handler)
             .device(s.device)
             .tag(static_cast<lci::tag_t>(s.index))()
             .is_retry()) {
    s.progress();
  }
}

}  // namespace

void post_ack(seat& s, uint64_t count) { tell(s, s.ack_handler, &count, sizeof(count)); }

job session::make_job(const command& c) const {
  job j;
  j.count = c.count;
  j.size = c.size;
  j.check = c.check;
  if (is_stream_) {
    j.window = static_cast<uint64_t>(options_.window);
    j.batch = j.window / syncs_per_seat;
  }
  return j;
}

payload_kind session::payload_of(size_t size) const {
  if (options_.op == op_kind::sendrecv || options_.op == op_kind::putsignal ||
      options_.op == op_kind::getsignal)
    return payload_kind::ours;
  // What is too large for a packet comes in allocated memory in any case.
  return options_.zero_copy && size <= max_eager_ ? payload_kind::packet : payload_kind::freed;
}

void session::run() {
  core_count();  // remembers the cores before this thread is pinned
  std::vector<std::thread> threads;
  const auto start = [&](int first, void (session::*body)(int)) {
    for (int i = first; i < options_.threads; ++i) {
      threads.emplace_back([this, i, body] { run_or_die([&] { (this->*body)(i); }); });
    }
  };
  // The main thread is the first sender, or the first receiver of a rank that only receives.
  if (receives_) start(sends_ ? 0 : 1, &session::receiver_thread);
  if (sends_) start(1, &session::sender_thread);
  run_or_die([&] { sends_ ? lead_senders() : receiver_thread(0); });
  for (std::thread& t : threads) t.join();
}

void session::receiver_thread(int i) {
  bind_thread(options_.bind, 1, options_.threads, i);
  seat& s = state.receivers[i];
  for (uint64_t serial = 1;; ++serial) {
    if (i == 0) {
      // C1: pairs with C2
      while (state.commanded.load(std::memory_order_acquire) < serial) s.progress();
      receiver_job_ = make_job(state.last_command);
    }
    receiver_barrier_.wait();
    const job j = receiver_job_;
    if (j.count == 0) break;
    part(j).prepare(s, j);
    receiver_barrier_.wait();
    if (i == 0) tell(s, ready_handler_, &serial, sizeof(serial));
    if (i == 0 && !j.check) way_->answer();
    part(j).receive(s, j, payload_of(j.size));
    receiver_barrier_.wait();
  }
}

void session::sender_thread(int i) {
  bind_thread(options_.bind, 0, options_.threads, i);
  while (true) {
    sender_barrier_.wait();
    const job j = sender_job_;
    if (j.count == 0) break;
    part(j).send(state.senders[i], j, payload_of(j.size));
    sender_barrier_.wait();
  }
}

double session::round(command c) {
  seat& s = state.senders[0];
  c.serial = ++serial_;
  tell(s, command_handler_, &c, sizeof(c));
  // C3: pairs with C4
  while (c.count != 0 && state.ready.load(std::memory_order_acquire) < serial_) s.progress();
  sender_job_ = make_job(c);
  if (c.count != 0 && !c.check) way_->lead();
  sender_barrier_.wait();
  if (c.count == 0) return 0;
  const double start = now_seconds();
  part(sender_job_).send(s, sender_job_, payload_of(c.size));
  sender_barrier_.wait();
  return now_seconds() - start;
}

void session::lead_senders() {
  bind_thread(options_.bind, 0, options_.threads, 0);
  const reporter out(options_, ranks_, notes());
  const uint64_t step = is_stream_ ? static_cast<uint64_t>(options_.window) : 1;
  for (const size_t size : options_.sizes) {
    round({0, syncs_per_seat * make_job({}).batch, size, true});
    uint64_t n = 0;
    std::vector<double> figures =
        measure(options_, step, &n, [&](uint64_t count) { return round({0, count, size, false}); });
    double messages = static_cast<double>(n);
    if (is_stream_) messages *= options_.threads;
    if (options_.metric == metric_kind::bidirectional) messages *= 2;
    for (double& t : figures) t = figure_of(options_.metric, t, messages, size);
    out.add(size, figures, way_->figures(options_.rounds));
  }
  round({});
}

std::vector<std::string> session::notes() const {
  const options& o = options_;
  std::vector<std::string> out;
  std::string line = ranks_ == 2 ? "2 ranks, " : "1 rank to itself, ";
  line +=
      std::to_string(o.threads) + (o.threads == 1 ? " pair of threads, " : " pairs of threads, ");
  line += o.dedicated ? "a device each" : "one shared device";
  if (options_.metric == metric_kind::bidirectional) line += ", both ways at once";
  if (is_stream_) {
    line += ", window " + std::to_string(o.window) + ", acknowledged every " +
            std::to_string(o.window / syncs_per_seat);
  }
  out.push_back(line);
  if (o.op == op_kind::orderedam) out.push_back("a stream for each pair: messages come in order");
  const char* by[] = {"told to a handler", "told to a completion queue", "told to synchronizers",
                      "told to a counter"};
  line = std::string(by[static_cast<int>(o.comp)]);
  if (o.op == op_kind::sendrecv) {
    line += ", received into buffers posted beforehand";
  } else if (o.op == op_kind::putsignal) {
    line = "puts to shared memory, each " + line;
  } else if (o.op == op_kind::getsignal) {
    line = "gets from shared memory of another rank, where each is " + line;
  } else if (o.comp == comp_kind::handler) {
    line += ", which reads the payload in place";
  } else {
    line +=
        o.zero_copy ? ", payload in packets (put_upacket)" : ", payload in malloc'ed copies, freed";
  }
  out.push_back(line);
  out.push_back(ranks_ == 2 || o.bind == bind_kind::none
                    ? describe_binding(o.bind, ranks_, o.threads)
                    : "senders as rank 0, receivers as rank 1: " +
                          describe_binding(o.bind, 2, o.threads));
  if (crowded_) out.push_back("more threads than cores: idle threads yield");
  return out;
}

}  // namespace lci_perf
