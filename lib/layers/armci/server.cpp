#include "lib/layers/armci/server.hpp"

#include <algorithm>
#include <exception>
#include <system_error>

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

namespace {
/// Least number of bytes of an accumulate that is queued: its application takes longer than the copy, about 0.3 us.
constexpr size_t least_queued = 4096;
}  // namespace

server::server(link& l, memory& m, mutexes& x)
    : link_(l),
      memory_(m),
      mutexes_(x),
      faults_(std::make_unique<std::atomic<bool>[]>(static_cast<size_t>(l.size()))) {}

void server::apply_in_background() {
  try {
    applier_.emplace(link_.size(), link_.packet_size(),
                     [this](int source, const std::byte* bytes, size_t size) { handle(source, bytes, size); });
  } catch (const std::system_error&) {
    // Without the applier's thread, the receiving thread applies all accumulates.
  }
}

void server::receive(int source, const std::byte* bytes, size_t size) noexcept {
  if (applier_) {
    const auto what = wire::reader(bytes, size).take<wire::request>().what;
    const bool adds = what == wire::kind::accumulate || what == wire::kind::list_accumulate;
    if (applier_->take(source, bytes, size, adds && size >= least_queued)) return;
  }
  handle(source, bytes, size);
}

void server::handle(int source, const std::byte* bytes, size_t size) noexcept {
  wire::reader in(bytes, size);
  const auto q = in.take<wire::request>();
  if (!in.good()) return;
  try {
    switch (q.what) {
      case wire::kind::put:
      case wire::kind::accumulate:
        put(q, in, source);
        break;
      case wire::kind::get:
        return get(q, in, source);
      case wire::kind::list_put:
      case wire::kind::list_accumulate:
        put_list(q, in, source);
        break;
      case wire::kind::list_get:
        return get_list(q, in, source);
      case wire::kind::rmw:
        return rmw(q, in, source);
      case wire::kind::fence:
        return fence(q, source);
      case wire::kind::lock:
        return mutexes_.asked_to_lock(source, q.token, q.address, (q.flags & wire::only_if_free) != 0);
      case wire::kind::unlock:
        return mutexes_.asked_to_unlock(source, q.address);
      case wire::kind::wake:
        return mutexes_.asked_to_look(q.address, false);
      case wire::kind::check_holder:
        return mutexes_.asked_to_look(q.address, true);
      case wire::kind::notify:
        memory_.own_control().notified()[source].fetch_add(1, std::memory_order_release);  // R1: pairs with A1 in
        return link_.something_happened();                                                 // armci_notify_wait
    }
    if ((q.flags & wire::acknowledge) != 0) fence(q, source);
  } catch (const error&) {
    // The process that asked has failed.
  } catch (const std::exception& e) {
    faults_[source].store(true, std::memory_order_relaxed);
    say("a request of another process", e.what());
    if (has_one_answer(q)) refuse_at_last(source, q.token, sizeof(int64_t), wire::no_memory);
  }
}

bool server::has_one_answer(const wire::request& q) {
  return (q.flags & wire::acknowledge) != 0 || q.what == wire::kind::rmw || q.what == wire::kind::fence ||
         q.what == wire::kind::lock;
}

void server::refuse_at_last(int source, uint32_t token, size_t bytes, int failure) noexcept {
  try {
    refuse(source, token, bytes, failure);
  } catch (const error&) {
    // The process that asked has failed.
  } catch (const std::exception&) {
    end_job("a request of another process", "it can't be answered, and its process would wait for ever", 1);
  }
}

bool server::owns(const layout& l) const {
  if (l.size() == 0) return false;
  const extent e = extent_of(l);
  return memory_.owns(e.begin, e.end);
}

namespace {

/// A word may be a flag that the target's process waits for: who reads it must see what was put before.
template <class Word>
void store_word(std::byte* to, const std::byte* from) {
  Word value;
  std::memcpy(&value, from, sizeof value);
  __atomic_store_n(reinterpret_cast<Word*>(to), value, __ATOMIC_RELEASE);
}

void copy(std::byte* to, const std::byte* from, size_t n) {
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (n == sizeof(uint32_t) && address % sizeof(uint32_t) == 0) return store_word<uint32_t>(to, from);
  if (n == sizeof(uint64_t) && address % sizeof(uint64_t) == 0) return store_word<uint64_t>(to, from);
  std::memcpy(to, from, n);
}

}  // namespace

void server::apply(std::optional<accumulation>& sum, std::byte* to, const std::byte* from, size_t n) {
  if (sum)
    sum->add(to, reinterpret_cast<uint64_t>(to), from, n);
  else
    copy(to, from, n);
}

std::optional<accumulation> server::sum_of(const wire::request& q, const std::byte* scale) {
  return scale == nullptr ? std::nullopt
                          : std::optional<accumulation>(std::in_place, memory_.own_control().locks, q.type, scale);
}

void server::put(const wire::request& q, wire::reader& in, int source) {
  const std::byte* scale = nullptr;
  size_t element = 1;
  if (q.what == wire::kind::accumulate) {
    scale = in.skip(wire::scale_size);
    element = element_size(q.type);
  }
  layout to = contiguous(reinterpret_cast<void*>(q.address), in.left());
  wire::range part{0, in.left()};
  if (q.levels > 0) {
    to = wire::take_shape(in, q);
    part = in.take<wire::range>();
  }
  const size_t all = to.size();
  if (!in.good() || element == 0 || !owns(to) || part.begin > all || part.size > all - part.begin ||
      part.size != in.left() || to.count[0] % element != 0 || part.begin % element != 0 || part.size % element != 0) {
    faults_[source].store(true, std::memory_order_relaxed);
    return;
  }
  const std::byte* from = in.rest();
  auto sum = sum_of(q, scale);
  for_each_piece(to, part.begin, part.size, [&](std::byte* p, size_t n) {
    apply(sum, p, from, n);
    from += n;
  });
}

void server::put_list(const wire::request& q, wire::reader& in, int source) {
  const std::byte* const scale = q.what == wire::kind::list_accumulate ? in.skip(wire::scale_size) : nullptr;
  const size_t element = q.what == wire::kind::list_accumulate ? element_size(q.type) : 1;
  while (in.good() && in.left() > 0) {
    const auto group = in.take<wire::list_group>();
    const std::byte* addresses = in.skip(group.n * sizeof(uint64_t));
    const std::byte* data = in.skip(size_t{group.n} * group.bytes);
    auto sum = sum_of(q, scale);
    bool sound = in.good() && element != 0 && group.bytes % element == 0;
    for (uint32_t i = 0; sound && i < group.n; ++i) {
      uint64_t address;
      std::memcpy(&address, addresses + i * sizeof address, sizeof address);
      sound = memory_.owns(address, address + group.bytes);
      if (sound) apply(sum, reinterpret_cast<std::byte*>(address), data + size_t{i} * group.bytes, group.bytes);
    }
    if (!sound) faults_[source].store(true, std::memory_order_relaxed);
  }
}

void server::send_answer(int source, packet&& p) {
  // The process that asked waits for it.
  insist([&] { link_.send(source, link::box::answers, std::move(p), true); });
}

void server::refuse(int source, uint32_t token, size_t bytes, int failure) {
  packet p = link_.new_packet();
  p.add(wire::answer{token, failure, std::max<size_t>(bytes, 1)});
  send_answer(source, std::move(p));
}

void server::send_bytes(int source, uint32_t token, const layout& from, size_t begin, size_t size, size_t position) {
  size_t sent = 0;
  try {
    while (sent < size) {
      packet p = link_.new_packet();
      p.add(wire::answer{token, 0, position + sent});
      const size_t n = std::min(size - sent, p.room());
      pack(p.extend(n), from, begin + sent, n);
      send_answer(source, std::move(p));
      sent += n;
    }
  } catch (const error&) {
    throw;
  } catch (const std::exception& e) {
    say("a request of another process", e.what());
    refuse_at_last(source, token, size - sent, wire::no_memory);
  }
}

void server::get(const wire::request& q, wire::reader& in, int source) {
  layout from;
  if (q.levels > 0) from = wire::take_shape(in, q);
  const auto part = in.take<wire::range>();
  if (q.levels == 0) from = contiguous(reinterpret_cast<void*>(q.address), part.begin + part.size);
  const size_t all = from.size();
  if (!in.good() || part.begin > all || part.size > all - part.begin || part.size == 0 || !owns(from))
    return refuse_at_last(source, q.token, part.size, internal_failure);
  send_bytes(source, q.token, from, part.begin, part.size, part.begin);
}

void server::get_list(const wire::request& q, wire::reader& in, int source) {
  const auto group = in.take<wire::list_group>();
  const size_t size = size_t{group.n} * group.bytes;
  std::vector<void*> segments;
  try {
    insist([&] { segments.resize(in.left() / sizeof(void*)); });
  } catch (const std::exception& e) {
    say("a request of another process", e.what());
    return refuse_at_last(source, q.token, size, wire::no_memory);
  }
  bool sound = in.good() && group.n > 0 && group.n == segments.size();
  if (sound) std::memcpy(segments.data(), in.rest(), segments.size() * sizeof(void*));
  for (size_t i = 0; sound && i < segments.size(); ++i) {
    const auto address = reinterpret_cast<uint64_t>(segments[i]);
    sound = memory_.owns(address, address + group.bytes);
  }
  if (!sound) return refuse_at_last(source, q.token, size, internal_failure);
  send_bytes(source, q.token, listed(segments.data(), segments.size(), group.bytes), 0, size, 0);
}

void server::rmw(const wire::request& q, wire::reader& in, int source) {
  const auto operand = in.take<wire::rmw_operand>();
  const size_t size = is_long(q.type) ? sizeof(long) : sizeof(int);
  if (!in.good() || !is_rmw(q.type) || q.address % size != 0 || !memory_.owns(q.address, q.address + size))
    return refuse(source, q.token, sizeof(int64_t));
  const int64_t before = read_modify_write(memory_.own_control().locks, q.type, reinterpret_cast<void*>(q.address),
                                           q.address, operand.value);
  packet p = link_.new_packet();
  p.add(wire::answer{q.token, 0, 0});
  p.add(before);
  send_answer(source, std::move(p));
}

void server::fence(const wire::request& q, int source) {
  if (faults_[source].exchange(false, std::memory_order_relaxed)) return refuse(source, q.token, 1);
  packet p = link_.new_packet();
  p.add(wire::answer{q.token, 0, 0});
  send_answer(source, std::move(p));
}

}  // namespace armci_layer
