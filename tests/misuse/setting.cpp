#include "tests/misuse/setting.hpp"

#include <cstdlib>
#include <cstring>

namespace misuse {

setting::setting()
    : rt(alloc_runtime()), other(alloc_runtime_x().name("the other")()), device(get_default_device_x().runtime(rt)()) {
  counting = alloc_device_x().counters(true).runtime(rt)();
  mr = register_memory_x(window, window_size).runtime(rt)();
  rmr = get_rmr(mr);
  shared_rmr = get_rmr(alloc_shared_x(window_size).runtime(rt)());
  // The first access finds where shared memory is mapped.
  post_put_x(0, buffer, 8, COMP_NULL, 0, shared_rmr).runtime(rt)();
  counter = alloc_counter_x().runtime(rt)();
  queue = alloc_cq_x().runtime(rt)();
  handler = alloc_handler_x(handle_status).runtime(rt)();
  rcomp = register_rcomp_x(counter).runtime(rt)();
  reserved = reserve_rcomps_x(1).runtime(rt)();
  symmetric = alloc_symmetric_x(64).runtime(rt)();
  engine = alloc_matching_engine_x().runtime(rt)();
  pool = alloc_packet_pool_x().npackets(64).runtime(rt)();
  register_packet_pool(pool, device);
  stream = alloc_stream_x().runtime(rt)();
  thread = fresh<progress_thread_t>();
}

namespace {

constexpr tag_t tag_of_health = 0xa11;

}  // namespace

bool setting::works() {
  char out[8] = "healthy", in[8] = {}, back[8] = {};
  if (!post_send_x(0, out, 8, tag_of_health, COMP_NULL).runtime(rt)().is_done()) return false;
  if (!post_recv_x(0, in, 8, tag_of_health, COMP_NULL).runtime(rt)().is_done()) return false;
  if (std::memcmp(out, in, 8) != 0) return false;
  std::vector<char> large_out(100'000, 'x'), large_in(large_out.size());
  comp_t sync = alloc_sync_x().runtime(rt)();
  const status_t posted =
      post_recv_x(0, large_in.data(), large_in.size(), tag_of_health + 1, sync).allow_done(false).runtime(rt)();
  if (!posted.is_posted()) return false;
  post_send_x(0, large_out.data(), large_out.size(), tag_of_health + 1, COMP_NULL).runtime(rt)();
  sync_wait_x(sync, nullptr).runtime(rt)();
  free_comp_x(&sync).runtime(rt)();
  if (large_in != large_out) return false;
  const int64_t before = counter_get(counter);
  post_am_x(0, out, 8, COMP_NULL, rcomp).runtime(rt)();
  if (!counter_wait_for_x(counter, before + 1, 10).runtime(rt)()) return false;
  post_put_x(0, out, 8, COMP_NULL, 8, rmr).runtime(rt)();
  post_get_x(0, back, 8, COMP_NULL, 8, rmr).runtime(rt)();
  if (std::memcmp(out, back, 8) != 0) return false;
  barrier_x().runtime(rt)();
  return true;
}

comp_t setting::ready_sync() {
  comp_t sync = alloc_sync_x().runtime(rt)();
  comp_signal(sync, status_t(errorcode_t::done));
  return sync;
}
comp_t setting::graph_at_rest() {
  comp_t graph = alloc_graph_x().runtime(rt)();
  const graph_node_t node = graph_add_node(graph, run_node);
  graph_add_edge(graph, GRAPH_START, node);
  graph_add_edge(graph, node, GRAPH_END);
  return graph;
}
comp_t setting::graph_that_ran() {
  comp_t graph = graph_at_rest();
  graph_start(graph);
  return graph;
}
graph_node_t setting::node_of(comp_t graph) { return graph_add_node(graph, run_node); }

graph_node_t setting::node_that_waits() {
  const comp_t graph = alloc_graph_x().runtime(rt)();
  const graph_node_t node = graph_add_node(graph, [](void*) { return status_t(errorcode_t::posted); });
  graph_add_edge(graph, GRAPH_START, node);
  graph_add_edge(graph, node, GRAPH_END);
  graph_start(graph);
  return node;
}

mr_t setting::mr_of_other_device() { return register_memory_x(buffer, sizeof buffer).device(counting).runtime(rt)(); }

rmr_t setting::misaligned_rmr() { return get_rmr(register_memory_x(buffer + 1, 64).runtime(rt)()); }

// --- new objects ---

template <>
runtime_t setting::fresh() {
  return alloc_runtime();
}
template <>
net_context_t setting::fresh() {
  return alloc_net_context_x().runtime(rt)();
}
template <>
device_t setting::fresh() {
  return alloc_device_x().runtime(rt)();
}
template <>
endpoint_t setting::fresh() {
  return alloc_endpoint_x().runtime(rt)();
}
template <>
packet_pool_t setting::fresh() {
  return alloc_packet_pool_x().npackets(64).runtime(rt)();
}
template <>
matching_engine_t setting::fresh() {
  return alloc_matching_engine_x().runtime(rt)();
}
template <>
comp_t setting::fresh() {
  return alloc_counter_x().runtime(rt)();
}
template <>
mr_t setting::fresh() {
  return register_memory_x(buffer, sizeof buffer).runtime(rt)();
}
template <>
symmetric_t setting::fresh() {
  return alloc_symmetric_x(64).runtime(rt)();
}
template <>
stream_t setting::fresh() {
  return alloc_stream_x().runtime(rt)();
}
template <>
progress_thread_t setting::fresh() {
  // It serves a device that is not used otherwise, so that cases are repeatable.
  const device_t served = fresh<device_t>();
  return alloc_progress_thread_x().runtime(rt).device(served)();
}

namespace {

void free_it(net_context_t* h, runtime_t) { free_net_context(h); }
void free_it(device_t* h, runtime_t) { free_device(h); }
void free_it(endpoint_t* h, runtime_t) { free_endpoint(h); }
void free_it(packet_pool_t* h, runtime_t) { free_packet_pool(h); }
void free_it(matching_engine_t* h, runtime_t) { free_matching_engine(h); }
void free_it(comp_t* h, runtime_t) { free_comp(h); }
void free_it(mr_t* h, runtime_t) { deregister_memory(h); }
void free_it(symmetric_t* h, runtime_t rt) { free_symmetric_x(h).runtime(rt)(); }
void free_it(stream_t* h, runtime_t) { free_stream(h); }
void free_it(progress_thread_t* h, runtime_t) { free_progress_thread(h); }

}  // namespace

template <class Handle>
Handle setting::freed() {
  Handle h = fresh<Handle>();
  const Handle copy = h;
  free_it(&h, rt);
  return copy;
}
template <>
runtime_t setting::freed() {
  runtime_t h = fresh<runtime_t>();
  const runtime_t copy = h;
  free_runtime(&h);
  return copy;
}
template <>
graph_node_t setting::freed() {
  comp_t graph = graph_at_rest();
  const graph_node_t node = node_of(graph);
  free_comp(&graph);
  return node;
}

template net_context_t setting::freed();
template device_t setting::freed();
template endpoint_t setting::freed();
template packet_pool_t setting::freed();
template matching_engine_t setting::freed();
template comp_t setting::freed();
template mr_t setting::freed();
template symmetric_t setting::freed();
template stream_t setting::freed();
template progress_thread_t setting::freed();

// --- of the second runtime ---

template <>
net_context_t setting::of_other() {
  return get_default_net_context_x().runtime(other)();
}
template <>
device_t setting::of_other() {
  return get_default_device_x().runtime(other)();
}
template <>
endpoint_t setting::of_other() {
  return get_default_endpoint_x().runtime(other)();
}
template <>
packet_pool_t setting::of_other() {
  return get_default_packet_pool_x().runtime(other)();
}
template <>
matching_engine_t setting::of_other() {
  return get_default_matching_engine_x().runtime(other)();
}
template <>
mr_t setting::of_other() {
  return register_memory_x(buffer, sizeof buffer).runtime(other)();
}
template <>
stream_t setting::of_other() {
  return alloc_stream_x().runtime(other)();
}

rmr_t setting::rmr_of_other_runtime() { return get_rmr(of_other<mr_t>()); }

}  // namespace misuse
