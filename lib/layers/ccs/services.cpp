// Handles the layer's own messages, by which other processes access this process's memory.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/numbers.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/remote_memory.hpp"
#include "lib/layers/ccs/services.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

/// A message. If its service throws for want of memory, it is called again; so it must not have had an effect then.
struct arrival {
  process& p;
  int source;
  const std::byte* data;
  size_t size;
};

/// Accumulates packed numbers into the numbers of a shape.
struct combiner {
  CCS_combine_t op;
  CCS_number_t type;
  const std::byte* from;

  void one(uintptr_t at, size_t n) {
    combine_into(op, type, reinterpret_cast<void*>(at), from, n);
    from += n;
  }
  void loop(uintptr_t at, intptr_t stride, size_t n, size_t count) {
    for (size_t i = 0; i < count; ++i, at = walking::add(at, stride)) one(at, n);
  }
  void same(uintptr_t base, const run* r, size_t n, size_t count) {
    for (size_t i = 0; i < count; ++i) one(walking::add(base, r[i].at), n);
  }
};

bool give_key(arrival a) {
  wire::key_request request;
  if (!wire::take(a.data, a.size, request)) return false;
  a.p.memory->lend(a.source, request.address, [&](const registration_table::piece& found) {
    a.p.answer(a.p.ordered, a.source, wire::kind::key_reply,
               wire::key_reply{request.address, found.id, found.begin, found.end, found.rmr});
  });
  return true;
}

bool take_key(arrival a) {
  wire::key_reply reply;
  if (!wire::take(a.data, a.size, reply)) return false;
  go_on_with_key(a.p, a.source, reply);
  return true;
}

bool end_key(arrival a) {
  wire::key_name name;
  if (!wire::take(a.data, a.size, name)) return false;
  if (a.p.peers[static_cast<size_t>(a.source)].keys.end(name.region))
    a.p.answer(a.p.ordered, a.source, wire::kind::key_released, name);
  return true;
}

bool take_key_back(arrival a) {
  wire::key_name name;
  if (!wire::take(a.data, a.size, name)) return false;
  a.p.memory->returned(a.source, name.region);
  return true;
}

bool add_shape(arrival a) { return a.p.peers[static_cast<size_t>(a.source)].shapes.add(a.data, a.size); }

bool remove_shape(arrival a) {
  wire::shape_name name;
  if (!wire::take(a.data, a.size, name)) return false;
  a.p.peers[static_cast<size_t>(a.source)].shapes.remove(name.id);
  return true;
}

void refuse_unregistered(arrival a, uint64_t operation, uintptr_t address) {
  a.p.answer(a.p.bulk, a.source, wire::kind::done, wire::result{operation, address, 1});
}

/// Finds the shape and the address range of a message's layout. Returns false if they are impossible.
bool find_shape(arrival a, const wire::data_head& head, shape& s, span& place) {
  if (!a.p.peers[static_cast<size_t>(a.source)].shapes.find(head.at, s) || s.size != head.total) return false;
  place = span_of(s);
  place.begin += static_cast<intptr_t>(head.at.address);
  place.end += static_cast<intptr_t>(head.at.address);
  return true;
}

bool take_data(arrival a) {
  wire::data_head head;
  shape s;
  span place;
  if (!wire::take(a.data, a.size, head) || !find_shape(a, head, s, place) || head.offset > head.total ||
      a.size > head.total - head.offset)
    return false;
  const bool last = head.offset + a.size == head.total;
  if (!a.p.memory->covers(static_cast<uintptr_t>(place.begin), static_cast<uintptr_t>(place.end))) {
    if (head.offset == 0) refuse_unregistered(a, head.operation, static_cast<uintptr_t>(place.begin));
    return true;
  }
  if (head.combine == wire::data_head::plain) {
    unpack(s, reinterpret_cast<void*>(head.at.address), head.offset, a.size, a.data);
  } else {
    if (head.combine >= CCS_NUM_COMBINES || head.number >= CCS_NUM_NUMBERS) return false;
    combiner with{static_cast<CCS_combine_t>(head.combine), static_cast<CCS_number_t>(head.number), a.data};
    walk(s, head.at.address, head.offset, a.size, with);
  }
  if (last) a.p.answer(a.p.bulk, a.source, wire::kind::done, wire::result{head.operation, 0, 0});
  return true;
}

bool serve_data(arrival a) {
  wire::data_head head;
  shape s;
  span place;
  if (!wire::take(a.data, a.size, head) || !find_shape(a, head, s, place)) return false;
  if (!a.p.memory->covers(static_cast<uintptr_t>(place.begin), static_cast<uintptr_t>(place.end))) {
    refuse_unregistered(a, head.operation, static_cast<uintptr_t>(place.begin));
    return true;
  }
  a.p.sendings.add(std::make_unique<sending>(a.p, a.source, layout::of_shape(head.at.address, std::move(s)),
                                             wire::reply_head{head.operation, 0}));
  return true;
}

bool take_reply(arrival a) {
  wire::reply_head head;
  if (!wire::take(a.data, a.size, head)) return false;
  operation* const op = a.p.operations.find(head.operation);
  if (op == nullptr || head.offset > op->local.size() || a.size > op->local.size() - head.offset) return false;
  unpack(op->local.whole(), reinterpret_cast<void*>(op->local.base()), head.offset, a.size, a.data);
  if (head.offset + a.size == op->local.size()) complete(a.p.take_operation(head.operation));
  return true;
}

bool end_operation(arrival a) {
  wire::result r;
  if (!wire::take(a.data, a.size, r)) return false;
  std::unique_ptr<operation> op = a.p.take_operation(r.operation);
  if (op == nullptr) return false;
  if (r.refused != 0) fail_unregistered(op->function, a.source, r.address);
  complete(std::move(op));
  return true;
}

bool put_indexed(arrival a) {
  wire::indexed_head head;
  if (!wire::take(a.data, a.size, head)) return false;
  const auto at = static_cast<uintptr_t>(head.pointer);
  if (at % alignof(void*) != 0 || !a.p.memory->covers(at, at + sizeof(void*))) {
    refuse_unregistered(a, head.operation, at);
    return true;
  }
  const uintptr_t to = apply_indexed(a.p, at, a.data, a.size);
  if (to != 0)
    refuse_unregistered(a, head.operation, to);
  else
    a.p.answer(a.p.bulk, a.source, wire::kind::done, wire::result{head.operation, 0, 0});
  return true;
}

bool answer_large(arrival a) {
  wire::large_answer answer;
  if (!wire::take(a.data, a.size, answer)) return false;
  return send_large(a.p, a.source, answer);
}

}  // namespace

uintptr_t apply_indexed(process& p, uintptr_t pointer, const std::byte* data, size_t size) {
  // Indexed puts run one at a time, and advance the pointer after they have written the data. So all data below the
  // pointer is complete.
  std::lock_guard guard(p.indexed_lock);
  auto* const word = reinterpret_cast<uintptr_t*>(pointer);
  const uintptr_t to = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  if (!p.memory->covers(to, to + size)) return to == 0 ? 1 : to;
  if (size > 0) std::memcpy(reinterpret_cast<void*>(to), data, size);
  __atomic_store_n(word, to + size, __ATOMIC_RELEASE);
  return 0;
}

void service_arrivals::signal(lci::status_t s) {
  using service = bool (*)(arrival);
  static constexpr service services[] = {give_key,  take_key,   end_key,    take_key_back, add_shape,   remove_shape,
                                         take_data, serve_data, take_reply, end_operation, put_indexed, answer_large};
  static_assert(sizeof services / sizeof *services == static_cast<size_t>(wire::kind::last) + 1);
  const arrival a{process_, s.rank, static_cast<const std::byte*>(s.buffer), s.size};
  if (s.tag >= sizeof services / sizeof *services || !insist("a message", [&] { return services[s.tag](a); }))
    fail("a message", "node %d has sent one that is damaged, or of another version of CCS", s.rank);
}

}  // namespace ccs
