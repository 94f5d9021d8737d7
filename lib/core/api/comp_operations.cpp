// Operations on completion objects other than graphs.
#include <memory>
#include <string>

#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/comp/am_handler.hpp"
#include "lib/comp/completion_queue.hpp"
#include "lib/comp/counter.hpp"
#include "lib/comp/graph.hpp"
#include "lib/comp/handler.hpp"
#include "lib/comp/synchronizer.hpp"
#include "lib/core/checking/checked_comp.hpp"
#include "lib/core/device/wait.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

namespace {

synchronizer& checked_sync(comp_t comp, const char* operation) {
  return checked<synchronizer>(comp, attr_comp_type_t::sync, operation, "a synchronizer (alloc_sync)");
}
counter& checked_counter(comp_t comp, const char* operation) {
  return checked<counter>(comp, attr_comp_type_t::counter, operation, "a counter (alloc_counter)");
}
completion_queue& checked_cq(comp_t comp, const char* operation) {
  return checked<completion_queue>(comp, attr_comp_type_t::cq, operation, "a completion queue (alloc_cq)");
}

comp_impl_t* checked_any(comp_t comp, const char* operation) {
  if (!detail::is_object(comp.p_impl)) throw_wrong_comp(operation, comp.p_impl, "a completion object");
  return comp.p_impl;
}

}  // namespace

void check_status(check_status_args& a) { a.device.p_impl->failures.check_status(a.status); }

// --- synchronizer ---

comp_t alloc_sync(alloc_sync_args& a) {
  require_delivery_outside("alloc_sync", a.attr);
  if (a.attr.sync_threshold < 1)
    throw_invalid("alloc_sync", "sync_threshold", std::to_string(a.attr.sync_threshold), "at least 1");
  return make_synchronizer(a.attr);
}

bool sync_test(sync_test_args& a) { return checked_sync(a.comp, "sync_test").test(a.p_out); }

void sync_wait(sync_wait_args& a) {
  synchronizer& s = checked_sync(a.comp, "sync_wait");
  const wait_policy policy{"sync_wait", -1, true, a.do_progress ? a.device.p_impl : nullptr};
  wait_until(
      policy, [&] { return s.test(a.p_out); }, [&](int64_t ns) { s.sleep(ns); });
}

bool sync_wait_for(sync_wait_for_args& a) {
  synchronizer& s = checked_sync(a.comp, "sync_wait_for");
  return wait_until(
      policy_of("sync_wait_for", a), [&] { return s.test(a.p_out); }, [&](int64_t ns) { s.sleep(ns); });
}

// --- counter ---

comp_t alloc_counter(alloc_counter_args& a) {
  require_delivery_outside("alloc_counter", a.attr);
  return new counter(a.attr);
}

int64_t counter_get(counter_get_args& a) { return checked_counter(a.comp, "counter_get").number.get(); }

void counter_set(counter_set_args& a) {
  counter& c = checked_counter(a.comp, "counter_set");
  if (a.value < c.number.smallest || a.value > c.number.largest)
    throw_invalid("counter_set", "value", std::to_string(a.value), "-2^62 to 2^62 - 1", "a counter has 63 bits");
  c.number.set(a.value);
}

bool counter_wait_for(counter_wait_for_args& a) {
  auto& number = checked_counter(a.comp, "counter_wait_for").number;
  return wait_until(
      policy_of("counter_wait_for", a), [&] { return number.get() >= a.value; },
      [&](int64_t ns) { number.sleep(a.value, ns); });
}

// --- completion queue ---

comp_t alloc_cq(alloc_cq_args& a) {
  require_delivery_outside("alloc_cq", a.attr);
  if (a.attr.cq_default_length < 1)
    throw_invalid("alloc_cq", "cq_default_length", std::to_string(a.attr.cq_default_length), "at least 1");
  if (static_cast<unsigned>(a.attr.cq_type) > static_cast<unsigned>(attr_cq_type_t::fifo))
    throw_invalid("alloc_cq", "cq_type", std::to_string(static_cast<int>(a.attr.cq_type)),
                  "array_atomic, lcrq or fifo");
  return make_queue(a.attr);
}

status_t cq_pop(cq_pop_args& a) { return checked_cq(a.comp, "cq_pop").pop(); }

size_t cq_pop_many(cq_pop_many_args& a) {
  completion_queue& q = checked_cq(a.comp, "cq_pop_many");
  if (LCI_UNLIKELY(a.statuses == nullptr) && a.max_pops > 0)
    throw_invalid("cq_pop_many", "statuses", "a null pointer",
                  "room for max_pops = " + std::to_string(a.max_pops) + " statuses");
  return q.pop_many(a.statuses, a.max_pops);
}

status_t cq_wait_for(cq_wait_for_args& a) {
  completion_queue& q = checked_cq(a.comp, "cq_wait_for");
  status_t status(errorcode_t::retry);
  wait_until(
      policy_of("cq_wait_for", a), [&] { return q.pop(status); }, [&](int64_t ns) { q.sleep(ns); });
  return status;
}

// --- handler ---

comp_t alloc_handler(alloc_handler_args& a) {
  if (!a.handler) throw_invalid("alloc_handler", "handler", "null", "a function");
  return new handler(a.handler, a.attr);
}

comp_t alloc_am_handler(alloc_am_handler_args& a) {
  if (!a.handler) throw_invalid("alloc_am_handler", "handler", "null", "a function");
  return new am_handler(a.handler, a.attr);
}

// --- all kinds ---

void comp_signal(comp_signal_args& a) { checked_any(a.comp, "comp_signal")->signal(a.status); }

void free_comp(free_comp_args& a) {
  if (!a.comp) throw_invalid("free_comp", "comp", "a null pointer", "the address of a handle");
  comp_impl_t* comp = checked_any(*a.comp, "free_comp");
  if (comp->attr.comp_type == attr_comp_type_t::graph && static_cast<graph*>(comp)->running())
    throw_invalid("free_comp", "comp", "a graph that runs", "one at rest", "wait until graph_test() returns done");
  rcomp_table::end_all_of(comp);
  *a.comp = comp_t();
  delete comp;
}

// --- remote completion ---

rcomp_t register_rcomp(register_rcomp_args& a) {
  runtime& rt = *a.runtime.p_impl;
  comp_impl_t* comp = a.comp.is_empty() ? &rt.discarded : checked_any(a.comp, "register_rcomp");
  refuse_graph("register_rcomp", comp);
  if (a.allocator != nullptr && comp->attr.zero_copy_am)
    throw_invalid("register_rcomp", "allocator", "given", "null for an object with zero_copy_am",
                  "its payloads come from packets or the runtime's allocator, and go back by put_upacket()");
  rcomp_table& table = rt.rcomps;
  if (a.rcomp == 0) return table.add(comp, a.allocator);
  table.add_reserved(comp, a.rcomp, a.allocator);
  return a.rcomp;
}

rcomp_t reserve_rcomps(reserve_rcomps_args& a) { return a.runtime.p_impl->rcomps.reserve(a.n); }

void deregister_rcomp(deregister_rcomp_args& a) { a.runtime.p_impl->rcomps.remove(a.rcomp); }

}  // namespace lci::core
