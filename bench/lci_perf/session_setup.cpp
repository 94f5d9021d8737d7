// Resources and handlers of a run. Handlers find the sides through the process-wide `state`.
#include <algorithm>
#include <cstdlib>

#include "bench/lci_perf/session_state.hpp"
#include "bench/lci_perf/together.hpp"

namespace lci_perf {

process_state state;

namespace {

// For sides whose handlers run in one thread only: no locked instruction is needed.
void bump(std::atomic<uint64_t>& word, uint64_t n) {
  // S2: pairs with S1 and A1
  word.store(word.load(std::memory_order_relaxed) + n, std::memory_order_release);
}
void bump_shared(std::atomic<uint64_t>& word, uint64_t n) {
  word.fetch_add(n, std::memory_order_release);  // S2: pairs with S1 and A1
}

template <void (*Bump)(std::atomic<uint64_t>&, uint64_t)>
struct handlers {
  static void read(side& s, const lci::status_t& status) {
    read_through(status.buffer, status.size);
    Bump(s.arrived, 1);
  }
  static void to_receiver(lci::status_t status) { read(state.receivers[status.tag], status); }
  static void to_sender(lci::status_t status) { read(state.senders[status.tag], status); }
  static void take(side& s, const lci::status_t& status) {
    std::free(status.buffer);
    Bump(s.arrived, 1);
  }
  static void owned_by_receiver(lci::status_t status) { take(state.receivers[status.tag], status); }
  static void owned_by_sender(lci::status_t status) { take(state.senders[status.tag], status); }
  // A signal has no payload to read: the data is in the program's memory.
  static void signal_receiver(lci::status_t status) { Bump(state.receivers[status.tag].arrived, 1); }
  static void signal_sender(lci::status_t status) { Bump(state.senders[status.tag].arrived, 1); }
  static void received(lci::status_t status) { Bump(static_cast<side*>(status.user_context)->arrived, 1); }
  static void acknowledge(side& s, const lci::status_t& status) {
    uint64_t count = 0;
    std::memcpy(&count, status.buffer, sizeof(count));
    Bump(s.acked, count);  // A2: pairs with A1
  }
  static void ack_receiver(lci::status_t status) { acknowledge(state.receivers[status.tag], status); }
  static void ack_sender(lci::status_t status) { acknowledge(state.senders[status.tag], status); }
};

void on_command(lci::status_t status) {
  std::memcpy(&state.last_command, status.buffer, sizeof(state.last_command));
  state.commanded.store(state.last_command.serial, std::memory_order_release);  // C2: pairs with C1
}

void check_receiver(lci::status_t status) { state.receivers[status.tag & 0xff].check.look(status); }
void check_sender(lci::status_t status) { state.senders[status.tag & 0xff].check.look(status); }

void on_ready(lci::status_t status) {
  uint64_t serial = 0;
  std::memcpy(&serial, status.buffer, sizeof(serial));
  state.ready.store(serial, std::memory_order_release);  // C4: pairs with C3
}

benchmark choose(const options& o) {
  const bool sendrecv = o.op == op_kind::sendrecv;
  switch (o.metric) {
    case metric_kind::latency:
      return sendrecv ? sendrecv_latency(o.comp) : message_latency(o.op, o.comp);
    case metric_kind::bidirectional:
      return sendrecv ? sendrecv_duplex(o.comp) : message_duplex(o.op, o.comp);
    default:
      return sendrecv ? sendrecv_stream(o.comp) : message_stream(o.op, o.comp);
  }
}

benchmark choose_check(const options& o) {
  return o.op == op_kind::sendrecv ? sendrecv_checked(o.comp) : message_checked(o.op, o.comp);
}

}  // namespace

session::session(const options& o, int ranks, int rank)
    : options_(o),
      ranks_(ranks),
      rank_(rank),
      pairs_(o.processes ? ranks / 2 : o.threads),
      sends_(rank < std::max(1, ranks / 2)),
      receives_(!sends_ || ranks == 1),
      crowded_(2 * pairs_ > core_count()),
      benchmark_(choose(o)),
      checked_(choose_check(o)),
      is_stream_(o.metric != metric_kind::latency),
      sender_barrier_(o.threads, crowded_),
      receiver_barrier_(o.threads, crowded_) {
  handoff_ = std::make_unique<handoff>(o.with_handoff && ranks == 2, rank);
  max_eager_ = lci::get_max_bcopy_size();
  make_handlers();
  make_sides();
}

session::~session() { release(); }

void session::make_handlers() {
  // If a device is polled by one thread only, no other thread writes to its side.
  const bool alone = ranks_ > 1 ? options_.threads == 1 || options_.dedicated : has_two_devices();
  const auto add = [this](lci::comp_handler_t f, bool in_place = true) {
    comps_.push_back(lci::alloc_handler_x(f).am_in_place(in_place)());
    rcomps_.push_back(lci::register_rcomp(comps_.back()));
    return rcomps_.back();
  };
  using one = handlers<bump>;
  using many = handlers<bump_shared>;
  command_handler_ = add(on_command);
  ready_handler_ = add(on_ready);
  if (has_memory(options_.op)) {
    state.to_receiver = state.owned_by_receiver = add(alone ? one::signal_receiver : many::signal_receiver);
    state.to_sender = state.owned_by_sender = add(alone ? one::signal_sender : many::signal_sender);
  } else {
    state.to_receiver = add(alone ? one::to_receiver : many::to_receiver);
    state.to_sender = add(alone ? one::to_sender : many::to_sender);
    state.owned_by_receiver = add(alone ? one::owned_by_receiver : many::owned_by_receiver, false);
    state.owned_by_sender = add(alone ? one::owned_by_sender : many::owned_by_sender, false);
  }
  state.ack_receiver = add(alone ? one::ack_receiver : many::ack_receiver);
  state.ack_sender = add(alone ? one::ack_sender : many::ack_sender);
  state.check_receiver = add(check_receiver);
  state.check_sender = add(check_sender);
  state.on_recv = lci::alloc_handler(alone ? one::received : many::received);
  comps_.push_back(state.on_recv);
}

int session::new_side_objects(side& s) {
  const int first = static_cast<int>(rcomps_.size());
  s.on_recv = state.on_recv;
  s.local = lci::alloc_counter();
  comps_.push_back(s.local);
  s.cq = lci::alloc_cq_x().zero_copy_am(options_.zero_copy)();
  comps_.push_back(s.cq);
  rcomps_.push_back(lci::register_rcomp(s.cq));
  s.counter = lci::alloc_counter();
  comps_.push_back(s.counter);
  rcomps_.push_back(lci::register_rcomp(s.counter));
  if (options_.op == op_kind::orderedam) s.stream = lci::alloc_stream();
  for (lci::comp_t& sync : s.syncs) {
    sync = lci::alloc_sync_x().sync_threshold(static_cast<int>(plan_of({}).batch)).zero_copy_am(options_.zero_copy)();
    comps_.push_back(sync);
    rcomps_.push_back(lci::register_rcomp(sync));
  }
  return first;
}

void session::make_sides() {
  const int n = options_.threads;
  size_t bytes = 0;
  for (const size_t size : options_.sizes) bytes = std::max(bytes, size);
  state.senders = std::make_unique<side[]>(static_cast<size_t>(n));
  state.receivers = std::make_unique<side[]>(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    const auto device = [this] {
      if (!options_.dedicated) return lci::get_default_device();
      own_devices_.push_back(lci::alloc_device());
      return own_devices_.back();
    };
    const lci::device_t of_receiving = device();
    const lci::device_t of_sending = has_two_devices() ? device() : of_receiving;
    side& sender = state.senders[i];
    side& receiver = state.receivers[i];
    const int of_sender = new_side_objects(sender);
    const int of_receiver = new_side_objects(receiver);
    const auto connect = [&](side& from, int objects_of_partner, lci::device_t own, lci::device_t other) {
      from.to_partner_cq = rcomps_[objects_of_partner];
      from.to_partner_counter = rcomps_[objects_of_partner + 1];
      for (int k = 0; k < syncs_per_side; ++k) {
        from.to_partner_syncs[k] = rcomps_[objects_of_partner + 2 + k];
      }
      from.device = own;
      from.to_partner = other;
      from.index = i;
      from.set_crowded(crowded_);
      from.out = make_page_buffer(bytes, 0, options_.offset);
      from.in = make_page_buffer(bytes, 0, options_.offset);
    };
    connect(sender, of_receiver, of_sending, of_receiving);
    connect(receiver, of_sender, of_receiving, of_sending);
    const int pair = options_.processes ? rank_ % pairs_ : i;
    sender.seed = receiver.partner_seed = 2 * pair;
    receiver.seed = sender.partner_seed = 2 * pair + 1;
    fill_pattern(sender.out.get(), bytes, sender.seed);
    fill_pattern(receiver.out.get(), bytes, receiver.seed);
    sender.to_partner_check = state.check_receiver;
    receiver.to_partner_check = state.check_sender;
    sender.to_partner_reader = state.to_receiver;
    receiver.to_partner_reader = state.to_sender;
    sender.to_partner_owner = state.owned_by_receiver;
    receiver.to_partner_owner = state.owned_by_sender;
    sender.ack_handler = state.ack_receiver;
    receiver.ack_handler = state.ack_sender;
    sender.partner_rank = receiver.partner_rank = (rank_ + ranks_ / 2) % ranks_;
    if (has_memory(options_.op)) give_memory(sender, receiver, bytes);
  }
  meet_on(state.senders[0].device);  // no rank may access memory before it is filled
}

void session::give_memory(side& sender, side& receiver, size_t bytes) {
  const size_t pitch = (bytes + 4095) / 4096 * 4096;  // whole pages, like the other buffers
  memories_.push_back(alloc_pages(2 * pitch, sender.device));
  const lci::symmetric_t memory = memories_.back();
  char* const mine = static_cast<char*>(lci::get_symmetric_address(memory, rank_));
  const auto own = [&](side& s, size_t at, size_t of_partner) {
    s.own_memory = mine + at;
    fill_pattern(s.own_memory, bytes, s.seed);
    s.remote = lci::get_symmetric_rmr(memory, s.partner_rank);
    s.remote_disp = of_partner;
  };
  own(sender, 0, pitch);
  own(receiver, pitch, 0);
}

void session::release() {
  for (size_t i = 0; i < memories_.size(); ++i) free_pages(memories_[i], state.senders[i].device);
  for (int i = 0; i < options_.threads; ++i) {
    for (side* s : {&state.senders[i], &state.receivers[i]}) {
      if (!s->stream.is_empty()) lci::free_stream(&s->stream);
    }
  }
  for (const lci::rcomp_t r : rcomps_) lci::deregister_rcomp(r);
  for (lci::comp_t& c : comps_) lci::free_comp(&c);
  for (lci::device_t& d : own_devices_) lci::free_device(&d);
  state.senders.reset();
  state.receivers.reset();
}

}  // namespace lci_perf
