#include "network/shm/external_peers.hpp"

#include <unistd.h>

#include <algorithm>

#include "lci/errors.hpp"
#include "network/shm/bell.hpp"
#include "network/shm/cma.hpp"
#include "network/shm/context.hpp"
#include "network/shm/lane_pool.hpp"

namespace lci::network::shm {

namespace {

std::string explain(refusal why) {
  switch (why) {
    case refusal::not_accepted:
      return "it does not accept connections; set LCI_ATTR_ACCEPT_EXTERNAL_PEERS=1 there";
    case refusal::full:
      return "it has no free peer ids; raise LCI_ATTR_MAX_PEERS there";
    case refusal::ring_too_small:
      return "the rings of one side are too small for the other's messages; give both the same "
             "LCI_ATTR_SHM_LANE_DATA_SIZE and LCI_ATTR_PACKET_SIZE";
    case refusal::no_attach:
      return "one side can't copy from the other's memory: the kernel doesn't allow it, or the "
             "address is incomplete; LCI_ATTR_SHM_CMA=0 avoids such copies";
    case refusal::unreachable:
    case refusal::none:
      break;
  }
  return "it can't map this process's memory; both processes must run as one user, and its `ulimit -v` must leave room";
}

}  // namespace

void wake_devices(const segment_view& segment, const connection_area_view& connection_area) {
  connection_area.changes().fetch_add(1, std::memory_order_release);  // R8: pairs with A8 in device::poll()
  compiler_barrier();                                                 // see bell.hpp
  for (uint32_t i = 0; i < max_devices; ++i) {
    device_entry& d = segment.device(i);
    if (device_entry::state_in(d.announced.load(std::memory_order_acquire)) == device_entry::absent)
      return;  // no entries were ever used behind it
    if (d.sleepers.load(std::memory_order_relaxed) != 0) ring(d);
  }
}

external_peers::external_peers(context& c, external_peer_book& book, const address& mine)
    : context_(c),
      book_(book),
      file_("lci-connection_area", connection_area_view::size_of(static_cast<uint32_t>(book.capacity())),
            "LCI_ATTR_MAX_PEERS"),
      map_(file_.map()),
      mine_{mine, file_.name()},
      all_(new external_peer[static_cast<size_t>(book.capacity())]) {
  connection_area_header& h = connection_area().header();
  h.capacity = static_cast<uint32_t>(book.capacity());
  h.magic = connection_area_magic;
}

external_peers::~external_peers() {
  for (int i = 0; i < n_seen_; ++i) {
    external_peer& p = all_[static_cast<size_t>(i)];
    const phase now = p.now.load(std::memory_order_relaxed);
    if (now == phase::requesting || now == phase::connected) part(p);
  }
}

void external_peers::need_room_for(size_t largest_message) {
  std::lock_guard guard(mutex_);
  room_needed_ = std::max(room_needed_, 2 * largest_message);
}

// --- connecting ---

int external_peers::slot_for(const external_address& where, external_memory memory) {
  // What needs memory comes before the id.
  auto watch = std::make_unique<process_watch>();
  std::list<ending> end(1);
  const int peer = book_.admit();
  if (peer < 0) return -1;
  n_seen_ = std::max(n_seen_, peer - book_.first() + 1);
  external_peer& p = at(peer);
  p.where = where;
  p.memory = std::move(memory);
  p.here = {static_cast<uint32_t>(peer - book_.first()), next_connection_++};
  p.there = {};
  p.watch = std::move(watch);
  p.end = std::move(end);
  p.request = nullptr;
  p.result = {};
  p.released = false;
  return peer;
}

refusal external_peers::fault_of(const external_address& where, const external_memory& memory) const {
  if (memory.segment.shape.data_size < room_needed_) return refusal::ring_too_small;
  if (context_.attach_works() && !can_attach(where.where)) return refusal::no_attach;
  return refusal::none;
}

int external_peers::connect(const std::string& text) {
  const external_address to = parse_address(text);
  if (is_same(to, mine_)) return context_.rank();
  external_memory memory = map_external(to);
  std::lock_guard guard(mutex_);
  if (const refusal fault = fault_of(to, memory); fault != refusal::none) {
    if (fault == refusal::no_attach && is_without_memory(to.where)) throw_gone(to);
    throw resource_error("connect: address = \"" + text + "\": " + explain(fault));
  }
  const int peer = slot_for(to, std::move(memory));
  if (peer < 0)
    throw resource_error("connect: all " + std::to_string(book_.capacity()) +
                         " peer ids are in use; disconnect some, or raise LCI_ATTR_MAX_PEERS");
  external_peer& p = at(peer);
  p.now.store(phase::requesting, std::memory_order_release);
  try_to_request(p);
  return peer;
}

void external_peers::try_to_request(external_peer& p) {
  const connection_area_view there = p.memory.connection_area();
  const int me = getpid();
  for (connection_request& request : there.header().requests) {
    uint64_t free = request.state.load(std::memory_order_relaxed);
    if (connection_request::phase_of(free) != connection_request::empty ||
        !request.state.compare_exchange_strong(free, connection_request::pack(connection_request::writing, me),
                                               std::memory_order_acquire, std::memory_order_relaxed))
      continue;
    request.from = mine_;
    request.there = p.here;
    p.request = &request;
    request.state.store(connection_request::pack(connection_request::waiting, me),
                        std::memory_order_release);  // R3: A3
    wake_devices(p.memory.segment.view(), there);
    return;
  }
}

void external_peers::read_answer(int peer, external_peer& p) {
  if (p.request == nullptr) try_to_request(p);
  if (p.request != nullptr) {
    connection_request& request = *p.request;
    const connection_request::phase said =
        connection_request::phase_of(request.state.load(std::memory_order_acquire));  // A4: R4
    if (said == connection_request::accepted || said == connection_request::refused) {
      const slot_number there = request.here;
      const refusal why = request.why;
      request.state.store(connection_request::pack(connection_request::empty, 0), std::memory_order_release);
      p.request = nullptr;
      if (said == connection_request::accepted && there.slot < p.memory.capacity) {
        p.there = there;
        return complete(peer, p);
      }
      p.result = {contact::state::refused, "the runtime at that address refuses the connection: " + explain(why)};
    }
  }
  if (p.result.what == contact::state::under_way && p.watch->has_ended(p.where.where.pid, p.where.where.start_time))
    p.result = {contact::state::gone, "the process at that address has ended before it answered"};
  if (p.result.what == contact::state::under_way) return;
  forget_memory(p);
  p.now.store(phase::unsuccessful, std::memory_order_release);
}

contact external_peers::contact_with(int peer) {
  std::lock_guard guard(mutex_);
  external_peer& p = at(peer);
  if (p.now.load(std::memory_order_relaxed) == phase::requesting) read_answer(peer, p);
  switch (p.now.load(std::memory_order_relaxed)) {
    case phase::requesting:
      return {};
    case phase::connected:
    case phase::ending:  // it was established
    case phase::over:
      return {contact::state::made, {}};
    case phase::unsuccessful: {
      contact result = p.result;
      finish(peer, departure::disconnected);
      return result;
    }
    case phase::idle:
      break;
  }
  return {contact::state::gone, "disconnect() has closed the connection"};
}

void external_peers::complete(int peer, external_peer& p) {
  p.pid.store(p.where.where.pid, std::memory_order_relaxed);
  p.now.store(phase::connected, std::memory_order_release);
  book_.on_connected(peer);
}

refusal external_peers::accept(const external_address& from, slot_number there, slot_number& here) {
  if (!book_.accepts_external_peers()) return refusal::not_accepted;
  external_memory memory;
  try {
    memory = map_external(from);
  } catch (const std::runtime_error&) {
    return refusal::unreachable;
  }
  if (there.connection == 0 || there.slot >= memory.capacity) return refusal::unreachable;
  if (const refusal fault = fault_of(from, memory); fault != refusal::none) return fault;
  const int peer = slot_for(from, std::move(memory));
  if (peer < 0) return refusal::full;
  external_peer& p = at(peer);
  p.there = there;
  here = p.here;
  complete(peer, p);
  return refusal::none;
}

void external_peers::answer(connection_request& request, int pid) {
  const external_address from = request.from;  // copied, as the requester might change it
  slot_number here;
  const refusal why = from.where.pid == pid ? accept(from, request.there, here) : refusal::unreachable;
  request.here = here;
  request.why = why;
  uint64_t state = connection_request::pack(connection_request::waiting, pid);
  const bool heard = request.state.compare_exchange_strong(
      state,
      connection_request::pack(why == refusal::none ? connection_request::accepted : connection_request::refused, pid),
      std::memory_order_acq_rel);  // R4: pairs with A4
  if (why != refusal::none) return;
  const int peer = book_.first() + static_cast<int>(here.slot);
  external_peer& p = at(peer);
  if (heard)
    wake_devices(p.memory.segment.view(), p.memory.connection_area());
  else
    begin_end(peer, p, departure::left);  // the requester has withdrawn meanwhile
}

bool external_peers::look() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return false;
  for (connection_request& request : connection_area().header().requests) {
    const uint64_t state = request.state.load(std::memory_order_acquire);  // A3: pairs with R3
    if (connection_request::phase_of(state) == connection_request::waiting)
      answer(request, connection_request::pid_of(state));
  }
  for (int i = 0; i < n_seen_; ++i) {
    external_peer& p = all_[static_cast<size_t>(i)];
    const phase now = p.now.load(std::memory_order_relaxed);
    if (now == phase::requesting) read_answer(book_.first() + i, p);
    if (now == phase::connected && connection_area().has_left(p.here)) begin_end(book_.first() + i, p, departure::left);
  }
  return true;
}

bool external_peers::find_route(int peer, route& r) {
  std::lock_guard guard(mutex_);
  external_peer& p = at(peer);
  if (p.now.load(std::memory_order_relaxed) != phase::connected) return false;
  r = {p.memory.segment.view(), p.memory.connection_area(), p.there};
  return true;
}

// --- disconnecting ---

void external_peers::part(external_peer& p) {
  const connection_area_view there = p.memory.connection_area();
  if (p.request != nullptr) {
    uint64_t state = connection_request::pack(connection_request::waiting, getpid());
    connection_request& request = *p.request;
    p.request = nullptr;
    if (request.state.compare_exchange_strong(state, connection_request::pack(connection_request::empty, 0),
                                              std::memory_order_acq_rel))
      return;
    // It has just been answered.
    const slot_number given = request.here;
    const bool accepted = connection_request::phase_of(state) == connection_request::accepted;
    request.state.store(connection_request::pack(connection_request::empty, 0), std::memory_order_release);
    if (!accepted || given.slot >= there.capacity()) return;
    p.there = given;
  }
  if (p.there.connection == 0) return;
  there.send_close(p.there);
  wake_devices(p.memory.segment.view(), there);
}

void external_peers::disconnect(int peer) {
  std::lock_guard guard(mutex_);
  external_peer& p = at(peer);
  switch (p.now.load(std::memory_order_relaxed)) {
    case phase::idle:
      return;
    case phase::requesting:
      part(p);
      return finish(peer, departure::disconnected);
    case phase::unsuccessful:
      return finish(peer, departure::disconnected);
    case phase::connected:
      part(p);
      return begin_end(peer, p, departure::disconnected);
    case phase::ending:
      p.released = true;
      return;
    case phase::over:
      return finish(peer, departure::disconnected);
  }
}

void external_peers::begin_end(int peer, external_peer& p, departure how) {
  p.pid.store(0, std::memory_order_relaxed);
  p.now.store(phase::ending, std::memory_order_release);
  p.released = how == departure::disconnected;
  if (n_devices_ == 0) return finish(peer, how);
  p.end.front() = {next_ending_++, peer, how, p.here, p.where.where.pid, p.where.where.start_time, n_devices_};
  endings_.splice(endings_.end(), p.end);
  notify_devices();
}

void external_peers::finish(int peer, departure how) {
  external_peer& p = at(peer);
  const bool to_program = how != departure::disconnected && !p.released;
  forget_memory(p);
  p.now.store(to_program ? phase::over : phase::idle, std::memory_order_release);
  book_.retire(peer, to_program ? how : departure::disconnected);
}

void external_peers::forget_memory(external_peer& p) {
  p.memory = {};
  p.watch.reset();
  p.request = nullptr;
}

void external_peers::notify_devices() { wake_devices(context_.own(), connection_area()); }

uint64_t external_peers::add_device() {
  std::lock_guard guard(mutex_);
  ++n_devices_;
  return next_ending_;
}

void external_peers::remove_device(uint64_t next) {
  uint64_t end;
  {
    std::lock_guard guard(mutex_);
    --n_devices_;
    end = next_ending_;
  }
  for (; next < end; ++next) dealt_with(next);
}

bool external_peers::find_ending(uint64_t number, ending& e) {
  std::lock_guard guard(mutex_);
  for (const ending& known : endings_)
    if (known.number == number) {
      e = known;
      return true;
    }
  return false;
}

void external_peers::dealt_with(uint64_t number) {
  std::lock_guard guard(mutex_);
  const auto e =
      std::find_if(endings_.begin(), endings_.end(), [=](const ending& known) { return known.number == number; });
  if (e == endings_.end() || --e->devices_left > 0) return;
  const int peer = e->peer;
  const departure how = e->how;
  endings_.erase(e);
  finish(peer, how);
}

void external_peers::make_room_for_lane() {
  std::lock_guard guard(mutex_);
  if (orphans_.size() == orphans_.capacity()) orphans_.reserve(2 * orphans_.size() + 1);
}

void external_peers::look_after_lane(const ending& e, uint32_t lane) {
  std::lock_guard guard(mutex_);
  orphans_.push_back({lane, context_.own().lane(lane).uses.load(std::memory_order_relaxed), e.pid, e.start_time});
}

void external_peers::watch() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return;
  for (int i = 0; i < n_seen_; ++i) {
    external_peer& p = all_[static_cast<size_t>(i)];
    if (p.now.load(std::memory_order_relaxed) != phase::connected ||
        !p.watch->has_ended(p.where.where.pid, p.where.where.start_time))
      continue;
    // It may have sent a close notification before it ended.
    begin_end(book_.first() + i, p, connection_area().has_left(p.here) ? departure::left : departure::died);
  }
  // Requests whose processes have died, and the senders' ends of their lanes.
  for (connection_request& request : connection_area().header().requests) {
    uint64_t state = request.state.load(std::memory_order_relaxed);
    if (connection_request::phase_of(state) == connection_request::empty ||
        !process_watch().has_ended(connection_request::pid_of(state), 0))
      continue;
    request.state.compare_exchange_strong(state, connection_request::pack(connection_request::empty, 0),
                                          std::memory_order_acq_rel);
  }
  std::erase_if(orphans_, [&](const orphan& o) {
    const lane_header& lane = context_.own().lane(o.lane);
    if (lane.uses.load(std::memory_order_acquire) != o.use ||
        (lane.closed.load(std::memory_order_acquire) & lane_header::sender) != 0)
      return true;
    if (!process_watch().has_ended(o.pid, o.start_time)) return false;
    close_end(context_.own(), o.lane, lane_header::sender);
    return true;
  });
}

}  // namespace lci::network::shm
