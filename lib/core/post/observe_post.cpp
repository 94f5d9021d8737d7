#include "lib/core/post/observe_post.hpp"

namespace lci::core {

watched_comp* watch(device& d, post_kind what, comp_t given, uint64_t begin) {
  return can_signal(given) ? d.rt.watched.get(*d.observer, *given.p_impl, what, begin) : nullptr;
}

void note_post(device& d, const observed_post& p, uint64_t begin, const status_t& status) {
  device_observer& o = *d.observer;
  const bool retry = status.is_retry();
  if (o.counts != nullptr) {
    // Messages are counted at the network instead, in the same way at both ends.
    static constexpr counted by_kind[] = {counted::count, counted::count, counted::recv,
                                          counted::put,   counted::get,   counted::atomic};
    const counted what = retry ? counted::retry : by_kind[static_cast<size_t>(p.what)];
    if (what != counted::count) o.counts->add(what, p.rank, p.size);
    if (status.is_done()) o.times->add(p.what, p.what == post_kind::recv ? status.size : p.size, tracer::now() - begin);
  }
  // Retries are not traced: a program that retries in a loop would displace all other events.
  if (o.trace == nullptr || retry) return;
  trace_event e{trace_event::type::post, static_cast<uint8_t>(p.what)};
  e.outcome = status.error.errorcode;
  e.peer = p.rank;
  e.device = o.device;
  e.begin = begin;
  e.end = tracer::now();
  e.size = p.size;
  e.tag = p.tag;
  e.message = tracer::sent_message;
  o.trace->add(e);
}

}  // namespace lci::core
