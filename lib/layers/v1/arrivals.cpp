#include "lib/layers/v1/arrivals.hpp"

#include <cstring>
#include <new>
#include <string>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/thread_state.hpp"
#include "lib/layers/v1/vectors.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

LCI_request_t request_of(const lci::status_t& s, LCI_data_type_t type) {
  LCI_request_t r;
  begin_request(r, LCI_OK, s.rank, user_tag_of(s.tag), type);
  r.user_context = nullptr;
  return r;
}

/// A request of a short message of one word. Built as words and returned whole: so the compiler writes each word once,
/// where the request is passed.
LCI_ALWAYS_INLINE inline LCI_request_t short_request(int rank, uint32_t tag, uint64_t word) {
  struct words {
    uint64_t rank_and_flag, type_and_tag, data[4], user_context;
  };
  static_assert(sizeof(words) == sizeof(LCI_request_t) && LCI_OK == 0 && LCI_IMMEDIATE == 0);
  const words w{static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32, tag, {word, 0, 0, 0}, 0};
  return __builtin_bit_cast(LCI_request_t, w);
}

void deliver_short(comp& to, const lci::status_t& s) {
  LCI_request_t r = request_of(s, LCI_IMMEDIATE);
  std::memcpy(&r.data.immediate, s.buffer, 8);
  if (LCI_UNLIKELY(s.size > 8)) std::memcpy(&r.data.immediate, s.buffer, s.size);
  (void)fill_short(r.data.immediate, s.size);
  to.deliver(r);
}

void deliver_medium(comp& to, const lci::status_t& s, void* buffer, size_t size) {
  LCI_request_t r = request_of(s, LCI_MEDIUM);
  r.data.mbuffer = {buffer, size};
  to.deliver(r);
}

/// A message in the network's buffer, for an object that gets a packet of its own.
void deliver_copied(comp& to, const lci::status_t& s) {
  const LCI_mbuffer_t copy = make_medium(s.size);
  if (s.size > 0) std::memcpy(copy.address, s.buffer, s.size);
  deliver_medium(to, s, copy.address, s.size);
}

void deliver_placed(comp& to, const lci::status_t& s) {
  placement p;
  if (s.size < sizeof p) throw lci::resource_error("a message for an address of this process has no address");
  const size_t size = s.size - sizeof p;
  std::memcpy(&p, static_cast<const std::byte*>(s.buffer) + size, sizeof p);
  if (size > 0) std::memcpy(reinterpret_cast<void*>(p.address), s.buffer, size);
  if (p.signals != 0) deliver_medium(to, s, reinterpret_cast<void*>(p.address), size);
}

void deliver_long(comp& to, const lci::status_t& s) {
  LCI_request_t r = request_of(s, LCI_LONG);
  r.data.lbuffer = {nullptr, s.buffer, s.size};
  to.deliver(r);
}

}  // namespace

void arrive(comp& to, const lci::status_t& s) {
  const delivery_count counted(id_of(s.tag));
  switch (arrival_of(s.tag)) {
    case arrival::immediate:
      if (LCI_UNLIKELY(s.size != 8 && s.size != 16 && s.size != LCI_SHORT_SIZE))
        throw lci::resource_error("a short message of " + std::to_string(s.size) + " bytes from rank " +
                                  std::to_string(s.rank) + ", whose program has another version of this library");
      return deliver_short(to, s);
    case arrival::medium:
      return deliver_copied(to, s);
    case arrival::placed:
      return deliver_placed(to, s);
    case arrival::signal:
      return deliver_long(to, s);
  }
}

void arrival_ports::close(lci::runtime_t runtime) {
  if (!short_handler_.is_empty()) lci::free_comp_x(&short_handler_).runtime(runtime)();
}

lci::rcomp_t remote_handle(uintptr_t remote_completion) {
  if (LCI_UNLIKELY(remote_completion > ~lci::rcomp_t{0}))
    throw lci::invalid_argument_error(
        "remote_completion = " + std::to_string(remote_completion) +
        " is no completion object of the target: pass LCI_DEFAULT_COMP_REMOTE, or what the target has got from "
        "LCI_queue_create(), LCI_sync_create() or LCI_handler_create(), cast to uintptr_t");
  return static_cast<lci::rcomp_t>(remote_completion);
}

handler_functions::handler_functions()
    : of_(static_cast<std::atomic<LCI_handler_t>*>(std::calloc(n_tags, sizeof(std::atomic<LCI_handler_t>)))) {
  if (of_ == nullptr) throw std::bad_alloc();
}

arrival_ports::port::port(arrival_ports& all, role what) : all_(all), role_(what) {
  attr.am_in_place = what == role::in_place || what == role::steps;
  attr.zero_copy_am = what == role::packets;
}

void arrival_ports::port::signal(lci::status_t s) {
  LCI_endpoint_s* endpoint = all_.find(id_of(s.tag));
  if (LCI_UNLIKELY(endpoint == nullptr)) {
    if (all_.keep(role_, s)) return;
    endpoint = all_.find(id_of(s.tag));
  }
  deliver(*endpoint, role_, s);
}

void arrival_ports::on_short(void* context, int rank, const void* data, size_t size, lci::tag_t tag) {
  // The most common message: a short one of a word, for a handler, in a thread without a bell.
  static_assert(tag_of(arrival::immediate) == 0);  // so its tag consists of the endpoint's id and the program's tag
  thread_state* const mine = detail::tls_without_bell;
  const LCI_handler_t function = static_cast<const arrival_ports*>(context)->functions_.of(tag);
  // One after the other: combined in one condition, they would be computed without branches.
  if (LCI_UNLIKELY(function == nullptr)) return on_other(context, rank, data, size, tag);
  if (LCI_UNLIKELY(size != 8)) return on_other(context, rank, data, size, tag);
  if (LCI_UNLIKELY(mine == nullptr)) return on_other(context, rank, data, size, tag);
  // Counted before the delivery, unlike other messages: after it this would take a quarter more instructions.
  lci::increment_own(mine->of_id[static_cast<uint32_t>(tag) >> tag_bits].delivered);
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  function(short_request(rank, user_tag_of(tag), word));
}

void arrival_ports::on_other(void* context, int rank, const void* data, size_t size, lci::tag_t tag) {
  lci::status_t s(lci::errorcode_t::done);
  s.rank = rank;
  s.buffer = const_cast<void*>(data);
  s.size = size;
  s.tag = tag;
  static_cast<arrival_ports*>(context)->in_place_.signal(s);
}

void arrival_ports::deliver(LCI_endpoint_s& endpoint, port::role role, const lci::status_t& s) {
  if (LCI_LIKELY(role == port::role::in_place)) return arrive(*endpoint.default_comp, s);
  if (role == port::role::steps) return handle_step(endpoint, s);
  const delivery_count counted(endpoint.id);
  if (role != port::role::packets) {
    record_allocated(s.buffer);
    return deliver_long(*endpoint.default_comp, s);
  }
  // The core has no buffer for a message without bytes, but the receiver gets a medium buffer with each message.
  void* const buffer = LCI_LIKELY(s.buffer != nullptr) ? s.buffer : make_medium(0).address;
  if (LCI_UNLIKELY(detail::checks) && !is_packet(buffer)) record_allocated(buffer);
  deliver_medium(*endpoint.default_comp, s, buffer, s.size);
}

bool arrival_ports::keep(port::role role, const lci::status_t& s) {
  std::lock_guard guard(mutex_);
  if (find(id_of(s.tag)) != nullptr) return false;
  early e{role, s, {}};
  const bool is_signal = role == port::role::in_place && arrival_of(s.tag) == arrival::signal;
  if ((role == port::role::in_place && !is_signal) || role == port::role::steps) {
    const auto* from = static_cast<const std::byte*>(s.buffer);
    lci::insist_on_memory([&] { e.data.assign(from, from + s.size); });
  }
  lci::insist_on_memory([&] { early_.push_back(std::move(e)); });
  return true;
}

void arrival_ports::add(LCI_endpoint_s* endpoint) {
  std::vector<early> ready;
  {
    std::lock_guard guard(mutex_);
    endpoints_.put(endpoint->id, endpoint);
    functions_.set(endpoint->id, endpoint->default_comp->function);
    for (size_t i = 0; i < early_.size();) {
      if (id_of(early_[i].status.tag) != endpoint->id) {
        ++i;
        continue;
      }
      ready.push_back(std::move(early_[i]));
      early_.erase(early_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  for (early& e : ready) {
    if (!e.data.empty()) e.status.buffer = e.data.data();
    deliver(*endpoint, e.role, e.status);
  }
}

void arrival_ports::remove(LCI_endpoint_s* endpoint) {
  functions_.set(endpoint->id, nullptr);
  endpoints_.put(endpoint->id, nullptr);
}

void arrival_ports::unknown_port::signal(lci::status_t s) {
  count_delivered(id_of(s.tag));
  throw lci::invalid_argument_error(
      "rank " + std::to_string(s.rank) + " has sent a message of " + std::to_string(s.size) + " bytes with tag " +
      std::to_string(user_tag_of(s.tag)) +
      " to remote_completion = " + std::to_string(reinterpret_cast<uintptr_t>(s.user_context)) +
      ", which is no completion object of this rank, or one that was freed: it is lost; free completion objects when "
      "no peer uses them any more");
}

void arrival_ports::open(lci::runtime_t runtime) {
  short_handler_ = lci::alloc_am_handler_x(on_short).runtime(runtime).user_context(this)();
  in_place = lci::register_rcomp_x(short_handler_).runtime(runtime)();
  packets = lci::register_rcomp_x(lci::comp_t(&packets_)).runtime(runtime)();
  memory = lci::register_rcomp_x(lci::comp_t(&memory_)).runtime(runtime)();
  steps = lci::register_rcomp_x(lci::comp_t(&steps_)).runtime(runtime)();
  lci::set_undelivered_x(lci::comp_t(&unknown_)).runtime(runtime)();
}

}  // namespace v1
