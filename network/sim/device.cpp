#include "network/sim/device.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "lci/errors.hpp"

namespace lci::network::sim {

namespace {
// Percentage of operations without `inject` that complete at once, with `done`.
constexpr size_t at_once_percent = 12;
}  // namespace

size_t device::n_ids() const {
  std::lock_guard lock(world_->mutex_);
  const auto& station = world_->ranks_[static_cast<size_t>(rank_)];
  return static_cast<size_t>(station.job_size) + station.links.size();
}

device::device(std::shared_ptr<world> w, int rank, const net_context_attr_t& context_attr, const device_attr_t& attr,
               size_t eager_size)
    : world_(std::move(w)),
      rank_(rank),
      temper_{context_attr.sim_max_delay, std::min<size_t>(context_attr.sim_retry_percent, 90),
              context_attr.sim_max_poll},
      max_sends_(std::max<size_t>(attr.net_max_sends, 1)),
      max_registrations_(context_attr.sim_max_registrations),
      check_mappings_(context_attr.sim_check_mappings),
      peers_(n_ids()) {
  limits_.max_inject = std::min(context_attr.sim_max_inject, eager_size);
  limits_.max_send = eager_size;
  limits_.max_rma = context_attr.sim_rma ? context_attr.max_msg_size : 0;
  limits_.rma = context_attr.sim_rma;
  limits_.put_imm = context_attr.sim_rma;
  limits_.put_then_send_ordered = true;
  limits_.max_ordered_put = limits_.max_rma;
  limits_.ordered = false;
  limits_.local_registration = true;
  limits_.pins_memory = true;
  if (context_attr.sim_preposted_recvs) limits_.receive_buffers = std::max<size_t>(attr.net_max_recvs, 1);

  std::lock_guard lock(world_->mutex_);
  auto& mine = world_->ranks_[rank_].devices;
  index_ = mine.size();
  mine.push_back(this);
  const auto& station = world_->ranks_[static_cast<size_t>(rank_)];
  for (int peer = 0; peer < station.job_size; ++peer)
    if (world_->separated(rank_, station.base + peer))
      schedule(world_->soon(temper_.max_delay), {.what = event::kind::peer_failure, .peer = peer});
    else if (world_->departed(station.base + peer, index_))
      schedule(world_->soon(temper_.max_delay), {.what = event::kind::device_end, .peer = peer});
}

device::~device() {
  std::lock_guard lock(world_->mutex_);
  std::erase_if(world_->transfers_, [&](auto& entry) {
    if (entry.second.source != this) return false;
    world_->forget_notice(entry.second);
    return true;
  });
  // Messages that have not left the device are lost with it: see flushed().
  for (size_t other = 0; other < world_->ranks_.size(); ++other) {
    device* d = world_->find(static_cast<int>(other), index_);
    if (d == nullptr || d == this) continue;
    std::erase_if(d->inbox_, [&](auto& entry) {
      const auto& [when, e] = entry;
      if (e.what != event::kind::recv || e.msg->source != rank_) return false;
      if (e.msg->read && when.first <= world_->clock_) return false;
      lose(*e.msg);
      return true;
    });
    const auto& station = world_->ranks_[other];
    if (const int here = rank_ - station.base; here >= 0 && here < station.job_size)
      d->schedule(world_->soon(d->temper_.max_delay), {.what = event::kind::device_end, .peer = here});
  }
  for (auto& [when, e] : inbox_) {
    if (e.what == event::kind::recv) lose(*e.msg);
    if (e.what == event::kind::departure) world_->dealt_with(rank_, e.peer);
  }
  for (auto next = world_->regions_.begin(); next != world_->regions_.end();) {
    const auto it = next++;
    if (it->second.rank == rank_ && it->second.device_index == index_) world_->forget(it);
  }
  world_->ranks_[rank_].devices[index_] = nullptr;
}

errorcode_t device::post(const net_op& op) {
  std::unique_lock lock(world_->mutex_, std::try_to_lock);
  if (!lock) return errorcode_t::retry_lock;
  if (const char* fault = fault_of(op)) {
    world_->violation(std::string("post by rank ") + std::to_string(rank_) + " to " + std::to_string(op.peer) + ", " +
                      std::to_string(total_size(op)) + " bytes: " + fault);
    return errorcode_t::fatal;
  }
  const int station = world_->station_of(rank_, op.peer);
  if (station < 0) return errorcode_t::fatal;  // not connected
  device* target = world_->find(station, index_);
  if (world_->separated(rank_, station) || world_->departed(station, index_)) return errorcode_t::fatal;
  // A peer that has not made its device yet looks like a full queue.
  if (target == nullptr || peers_[op.peer].outstanding >= max_sends_) {
    world_->stats_.retries += 1;
    return errorcode_t::retry_nomem;
  }
  if (world_->random_.percent(temper_.retry_percent)) {
    world_->stats_.retries += 1;
    return world_->random_.percent(50) ? errorcode_t::retry_lock : errorcode_t::retry_nomem;
  }
  return op.kind == verb::send ? send(op, *target) : move_memory(op);
}

const char* device::fault_of(const net_op& op) const {
  if (op.peer < 0 || static_cast<size_t>(op.peer) >= peers_.size()) return "there is no such rank";
  if (op.n_segments > max_segments) return "too many segments";
  const size_t size = total_size(op);
  if (op.inject && op.kind == verb::get) return "a get cannot be inject";
  if (op.has_imm && op.kind != verb::put) return "immediate data without a put";
  if (op.inject && size > limits_.max_inject) return "larger than max_inject";
  if (op.kind == verb::send && size > limits_.max_send) return "larger than max_send";
  if (op.kind != verb::send && !limits_.rma) return "this device has no puts and gets";
  if (op.kind != verb::send && size > limits_.max_rma) return "larger than max_rma";
  if (op.ordered && op.kind != verb::put) return "ordered, and not a put";
  if (op.ordered && size > limits_.max_ordered_put) return "larger than max_ordered_put";
  for (int i = 0; i < op.n_segments && !op.inject; ++i)
    if (const char* fault = fault_of(op.segments[i])) return fault;
  return nullptr;
}

const char* device::fault_of(const segment& s) const {
  if (s.size == 0) return nullptr;
  const auto it = world_->regions_.find(~s.lkey);
  if (it == world_->regions_.end() || it->second.rank != rank_ || it->second.device_index != index_)
    return "a segment has no lkey, or an unknown one";
  const uint64_t start = reinterpret_cast<uint64_t>(s.base);
  if (start < it->second.base || start + s.size > it->second.base + it->second.size)
    return "a segment lies outside of what its lkey covers";
  if (!world_->intact(it->second, start, s.size)) return "a segment's memory has been unmapped since it was registered";
  return nullptr;
}

errorcode_t device::send(const net_op& op, device& target) {
  auto msg = std::make_shared<message>();
  msg->op = op;
  msg->source = rank_;
  msg->silent = op.inject || world_->random_.percent(at_once_percent);
  if (msg->silent) msg->read_buffer();
  // Both events are made before one takes effect: without memory nothing was sent.
  std::map<moment, event> arrives, completes;
  arrives.emplace(world_->at(std::max(world_->soon(temper_.max_delay), peers_[op.peer].last_put)),
                  event{.what = event::kind::recv, .peer = id_at(op.peer, target.rank_), .msg = msg});
  if (!msg->silent)
    completes.emplace(world_->at(world_->soon(temper_.max_delay)),
                      event{.what = event::kind::complete, .peer = op.peer, .context = op.context, .msg = msg});
  target.inbox_.merge(arrives);
  inbox_.merge(completes);
  peers_[op.peer].outstanding += 1;
  world_->stats_.sent += 1;
  return msg->silent ? errorcode_t::done : errorcode_t::posted;
}

errorcode_t device::move_memory(const net_op& op) {
  const int target = world_->station_of(rank_, op.peer);
  world::transfer t{.source = this, .target = target, .op = op, .payload = {}, .silent = op.inject};
  // The events are allocated now, so that reporting the completion or the failure takes no memory.
  device* const notified = op.has_imm ? world_->find(target, index_) : nullptr;
  const auto reserve = [&] {
    reserve_events((t.silent ? 0 : 1) + (notified == this ? 1 : 0));
    if (notified != nullptr) notified->reserve_events(1);
  };
  const auto count = [&] {
    if (!t.silent) ++n_reserved_;
    if (notified != nullptr) ++notified->n_reserved_;
    peers_[op.peer].outstanding += 1;
    world_->stats_.rma_posted += 1;
  };
  const size_t size = total_size(op);
  std::string why;
  // Those of the present tick may not have been applied yet.
  const bool waits = op.ordered && peers_[op.peer].last_ordered_put >= world_->clock_;
  if (world_->random_.percent(at_once_percent) && !waits &&
      (size == 0 || world_->remote_memory(op, target, index_, size, why) != nullptr)) {
    t.silent = true;
    reserve();
    count();
    world_->apply(t);
    return errorcode_t::done;
  }
  reserve();
  if (op.inject) {
    t.owns_payload = true;
    for (int i = 0; i < op.n_segments; ++i) {
      const auto* from = static_cast<const std::byte*>(op.segments[i].base);
      t.payload.insert(t.payload.end(), from, from + op.segments[i].size);
    }
  }
  uint64_t arrival = world_->soon(temper_.max_delay);
  if (op.ordered) {
    uint64_t& last = peers_[op.peer].last_ordered_put;
    last = arrival = std::max(last, arrival);
  }
  if (op.kind == verb::put) {
    uint64_t& last = peers_[op.peer].last_put;
    last = std::max(last, arrival);
  }
  world_->transfers_.emplace(world_->at(arrival), std::move(t));
  count();
  return op.inject ? errorcode_t::done : errorcode_t::posted;
}

int device::poll(event_sink& sink, int max_events) {
  uint64_t limit = static_cast<uint64_t>(std::max(max_events, 0));
  // One event at a time: if the sink throws, no event may be lost.
  for (int n = 0;; ++n) {
    event e;
    {
      std::unique_lock lock(world_->mutex_, std::try_to_lock);
      if (!lock) return n > 0 ? n : -1;
      if (n == 0) {
        world_->advance();
        world_->answer_requests(rank_);
        if (world_->random_.percent(temper_.retry_percent / 2)) return -1;
        if (temper_.max_poll > 0) limit = std::min(limit, world_->random_.up_to(temper_.max_poll));
      }
      if (static_cast<uint64_t>(n) == limit || !next_event(e)) return n;
    }
    struct dealing {  // also if the sink throws
      device& d;
      const event& e;
      ~dealing() {
        if (e.what != event::kind::departure) return;
        std::lock_guard lock(d.world_->mutex_);
        d.world_->dealt_with(d.rank_, e.peer);
      }
    } const dealt{*this, e};
    tell(e, sink);
  }
}

bool device::next_event(event& out) {
  world_->apply_due_transfers();  // the sink may have posted since the previous call
  for (auto it = inbox_.begin(); it != inbox_.end() && it->first.first <= world_->clock_; ++it) {
    if (it->second.what == event::kind::recv && limits_.receive_buffers > 0 && buffers_.empty())
      continue;  // no buffer posted: stays in the network
    const bool is_last = it->second.what == event::kind::departure || it->second.what == event::kind::device_end;
    if (is_last && anything_from(it->second.peer)) continue;
    if (it->second.what == event::kind::operation_failure && device_end_is_due(it->second.peer)) continue;
    if (it->second.what == event::kind::recv) it->second.msg->read_buffer();  // without memory it stays in the network
    out = std::move(inbox_.extract(it).mapped());
    switch (out.what) {
      case event::kind::recv:
        free_slot(*out.msg);
        world_->stats_.delivered += 1;
        if (limits_.receive_buffers > 0) fill_receive_buffer(out);
        break;
      case event::kind::complete:
      case event::kind::operation_failure:
        if (out.msg) out.msg->read_buffer();  // the buffer belongs to the sender again
        peers_[out.peer].outstanding -= 1;
        break;
      case event::kind::peer_failure:
        forget_messages_from(out.peer, 100);
        break;
      case event::kind::remote_write:
      case event::kind::departure:
      case event::kind::device_end:
        break;
    }
    return true;
  }
  return false;
}

void device::fill_receive_buffer(event& e) {
  const receive_buffer b = buffers_.front();
  buffers_.pop_front();
  const size_t size = std::min(b.where.size, e.msg->payload.size());
  if (size < e.msg->payload.size())
    world_->violation("rank " + std::to_string(rank_) + " offered a receive buffer of " + std::to_string(size) +
                      " bytes, but a message has " + std::to_string(e.msg->payload.size()));
  if (size > 0) std::memcpy(b.where.base, e.msg->payload.data(), size);
  e.buffer = {b.where.base, size};
  e.context = b.context;
}

void device::tell(const event& e, event_sink& sink) {
  switch (e.what) {
    case event::kind::recv:
      if (e.buffer.base != nullptr)
        sink.on_recv(e.peer, static_cast<const std::byte*>(e.buffer.base), e.buffer.size, e.context);
      else
        sink.on_recv(e.peer, e.msg->payload.data(), e.msg->payload.size(), nullptr);
      break;
    case event::kind::complete:
      sink.on_complete(e.context);
      break;
    case event::kind::remote_write:
      sink.on_remote_write(e.peer, e.imm);
      break;
    case event::kind::peer_failure:
      sink.on_peer_failure(e.peer, "cut off from the simulated network");
      break;
    case event::kind::operation_failure:
      sink.on_operation_failure(e.context, e.peer);
      break;
    case event::kind::departure:
      sink.on_peer_departure(e.peer, e.how);
      break;
    case event::kind::device_end:
      sink.on_device_end(e.peer);
      break;
  }
}

errorcode_t device::post_recv(segment buffer, void* context) {
  if (limits_.receive_buffers == 0) return errorcode_t::fatal;
  std::unique_lock lock(world_->mutex_, std::try_to_lock);
  if (!lock) return errorcode_t::retry_lock;
  if (world_->random_.percent(temper_.retry_percent)) return errorcode_t::retry_lock;
  if (buffers_.size() >= limits_.receive_buffers) return errorcode_t::retry_nomem;
  if (const char* fault = fault_of(buffer)) {
    world_->violation("post_recv by rank " + std::to_string(rank_) + ": " + fault);
    return errorcode_t::fatal;
  }
  buffers_.push_back({buffer, context});
  return errorcode_t::done;
}

registration device::register_memory(void* base, size_t size) {
  std::lock_guard lock(world_->mutex_);
  const auto mine = [this](const auto& known) { return known.second.rank == rank_; };
  if (max_registrations_ > 0 &&
      static_cast<size_t>(std::count_if(world_->regions_.begin(), world_->regions_.end(), mine)) >= max_registrations_)
    throw resource_error("sim: " + std::to_string(max_registrations_) +
                         " ranges are registered already; raise LCI_ATTR_SIM_MAX_REGISTRATIONS");
  const auto start = reinterpret_cast<uint64_t>(base);
  const uint64_t stamp = check_mappings_ && size > 0 ? world_->pages_.pin(start, size) : 0;
  const uint64_t key = world_->new_key();
  world_->regions_[key] = {rank_, index_, start, size, stamp};
  return {.lkey = ~key, .rkey = key};
}

void device::deregister_memory(const registration& reg) {
  std::lock_guard lock(world_->mutex_);
  const auto it = world_->regions_.find(reg.rkey);
  if (it == world_->regions_.end() || it->second.rank != rank_ || it->second.device_index != index_)
    world_->violation("rank " + std::to_string(rank_) + " deregistered memory that this device has not registered");
  else
    world_->forget(it);
}

void device::make_read_only(const registration& reg) {
  std::lock_guard lock(world_->mutex_);
  world_->regions_.at(reg.rkey).read_only = true;
}

void device::wait(int64_t timeout_us) {
  {
    std::lock_guard lock(world_->mutex_);
    world_->advance();
  }
  if (timeout_us > 0) std::this_thread::yield();
}

void device::park(int64_t timeout_us) {
  // The clock advances only when devices poll, so poll on, but with pauses.
  wait(0);
  std::this_thread::sleep_for(std::chrono::microseconds(std::min<int64_t>(timeout_us, 200)));
}

bool device::flushed() {
  std::lock_guard lock(world_->mutex_);
  world_->advance();
  for (const auto& [when, t] : world_->transfers_)
    if (t.source == this) return false;
  for (size_t other = 0; other < world_->ranks_.size(); ++other) {
    const device* d = world_->find(static_cast<int>(other), index_);
    if (d == nullptr) continue;
    for (const auto& [when, e] : d->inbox_)
      if (e.what == event::kind::recv && e.msg->source == rank_ && (!e.msg->read || when.first > world_->clock_))
        return false;
  }
  return true;
}

void device::message::read_buffer() {
  if (read) return;
  payload.reserve(total_size(op));
  for (int i = 0; i < op.n_segments; ++i) {
    const auto* from = static_cast<const std::byte*>(op.segments[i].base);
    payload.insert(payload.end(), from, from + op.segments[i].size);
  }
  read = true;
}

void device::free_slot(const message& m) {
  device* source = world_->find(m.source, index_);
  if (m.silent && source != nullptr) source->peers_[m.op.peer].outstanding -= 1;
}

void device::lose(message& m) {
  free_slot(m);
  m.read = true;
  world_->stats_.lost += 1;
}

void device::reserve_events(size_t n) {
  while (spares_.size() < n_reserved_ + n)
    spares_.emplace(world_->at(0), event{.what = event::kind::complete, .peer = 0});
}

void device::schedule_reserved(uint64_t tick, event e) {
  auto node = spares_.extract(spares_.begin());
  n_reserved_ -= 1;
  node.key() = world_->at(tick);
  node.mapped() = std::move(e);
  inbox_.insert(std::move(node));
}

void device::fail_operation(int peer, void* context) {
  schedule_reserved(world_->soon(temper_.max_delay),
                    {.what = event::kind::operation_failure, .peer = peer, .context = context});
}

int device::id_at(int peer, int station) const {
  const int id = world_->peer_at(station, rank_);
  return id >= 0 ? id : world_->link_of(rank_, peer).there;
}

bool device::anything_from(int peer) const {
  return std::any_of(inbox_.begin(), inbox_.end(), [=](const auto& entry) {
    const event& e = entry.second;
    return e.peer == peer && (e.what == event::kind::recv || e.what == event::kind::remote_write);
  });
}

bool device::device_end_is_due(int peer) const {
  return std::any_of(inbox_.begin(), inbox_.end(), [=](const auto& entry) {
    return entry.second.peer == peer && entry.second.what == event::kind::device_end;
  });
}

void device::part_from(int peer, departure how) {
  settle_under_way(peer);
  if (how != departure::left) forget_messages_from(peer, how == departure::died ? 50 : 100);
  schedule(world_->soon(temper_.max_delay), {.what = event::kind::departure, .peer = peer, .how = how});
}

void device::cut_off_from(int peer) {
  settle_under_way(peer);
  forget_messages_from(peer, 50);
  schedule(world_->soon(temper_.max_delay), {.what = event::kind::peer_failure, .peer = peer});
}

// Each operation in flight may or may not have taken effect; each one ends exactly once.
void device::settle_under_way(int peer) {
  random_source& random = world_->random_;
  for (auto it = world_->transfers_.begin(); it != world_->transfers_.end();) {
    const auto here = it++;
    if (here->second.source != this || here->second.op.peer != peer) continue;
    world::transfer t = std::move(world_->transfers_.extract(here).mapped());
    if (random.percent(50)) {
      world_->apply(t);
    } else {
      world_->stats_.rma_failed += 1;
      world_->forget_notice(t);
      if (t.silent)
        peers_[peer].outstanding -= 1;
      else
        fail_operation(peer, t.op.context);
    }
  }
  for (auto& [when, e] : inbox_) {
    if (e.peer != peer) continue;
    if (e.what == event::kind::recv) e.msg->read_buffer();  // the memory may be freed later
    if (e.what == event::kind::complete && random.percent(50)) e.what = event::kind::operation_failure;
  }
}

void device::forget_messages_from(int peer, size_t percent) {
  std::erase_if(inbox_, [&](auto& entry) {
    const event& e = entry.second;
    if (e.peer != peer) return false;
    if (e.what != event::kind::recv && e.what != event::kind::remote_write) return false;
    if (!world_->random_.percent(percent)) return false;
    if (e.what == event::kind::recv) lose(*e.msg);
    return true;
  });
}

}  // namespace lci::network::sim
