// The published v2 operations of communication and completion, with each of their setters.
// It only has to compile, with each compiler and the strictest warnings of clients. Written from the published tables,
// not from api_dsl, so that a name that is missing there is an error here.
// clang-format off: tables, not code.
#include "tests/api/v2_values.hpp"

namespace {

using namespace lci;

[[maybe_unused]] void use_free_comp(values& v) {
  if (v.a_bool) return free_comp(v.a_comp_t_ptr);
  return free_comp_x(v.a_comp_t_ptr).runtime(v.a_runtime_t).comp(v.a_comp_t_ptr)();
}

[[maybe_unused]] void use_comp_signal(values& v) {
  if (v.a_bool) return comp_signal(v.a_comp_t, v.a_status_t);
  return comp_signal_x(v.a_comp_t, v.a_status_t).runtime(v.a_runtime_t).comp(v.a_comp_t).status(v.a_status_t)();
}

[[maybe_unused]] rcomp_t use_reserve_rcomps(values& v) {
  if (v.a_bool) return reserve_rcomps(v.a_rcomp_t);
  return reserve_rcomps_x(v.a_rcomp_t).runtime(v.a_runtime_t).n(v.a_rcomp_t)();
}

[[maybe_unused]] rcomp_t use_register_rcomp(values& v) {
  if (v.a_bool) return register_rcomp(v.a_comp_t);
  return register_rcomp_x(v.a_comp_t).runtime(v.a_runtime_t).rcomp(v.a_rcomp_t).comp(v.a_comp_t)();
}

[[maybe_unused]] void use_deregister_rcomp(values& v) {
  if (v.a_bool) return deregister_rcomp(v.a_rcomp_t);
  return deregister_rcomp_x(v.a_rcomp_t).runtime(v.a_runtime_t).rcomp(v.a_rcomp_t)();
}

[[maybe_unused]] comp_t use_alloc_sync(values& v) {
  if (v.a_bool) return alloc_sync();
  return alloc_sync_x()
      .runtime(v.a_runtime_t)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .sync_threshold(v.a_int)
      .zero_copy_am(v.a_bool)
      .cq_type(v.a_attr_cq_type_t)
      .cq_default_length(v.a_int)();
}

[[maybe_unused]] bool use_sync_test(values& v) {
  if (v.a_bool) return sync_test(v.a_comp_t, v.a_status_t_ptr);
  return sync_test_x(v.a_comp_t, v.a_status_t_ptr).runtime(v.a_runtime_t).comp(v.a_comp_t).p_out(v.a_status_t_ptr)();
}

[[maybe_unused]] void use_sync_wait(values& v) {
  if (v.a_bool) return sync_wait(v.a_comp_t, v.a_status_t_ptr);
  return sync_wait_x(v.a_comp_t, v.a_status_t_ptr)
      .runtime(v.a_runtime_t)
      .do_progress(v.a_bool)
      .device(v.a_device_t)
      .comp(v.a_comp_t)
      .p_out(v.a_status_t_ptr)();
}

[[maybe_unused]] comp_t use_alloc_counter(values& v) {
  if (v.a_bool) return alloc_counter();
  return alloc_counter_x()
      .runtime(v.a_runtime_t)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .sync_threshold(v.a_int)
      .zero_copy_am(v.a_bool)
      .cq_type(v.a_attr_cq_type_t)
      .cq_default_length(v.a_int)();
}

[[maybe_unused]] int64_t use_counter_get(values& v) {
  if (v.a_bool) return counter_get(v.a_comp_t);
  return counter_get_x(v.a_comp_t).runtime(v.a_runtime_t).comp(v.a_comp_t)();
}

[[maybe_unused]] void use_counter_set(values& v) {
  if (v.a_bool) return counter_set(v.a_comp_t, v.a_int64_t);
  return counter_set_x(v.a_comp_t, v.a_int64_t).runtime(v.a_runtime_t).comp(v.a_comp_t).value(v.a_int64_t)();
}

[[maybe_unused]] comp_t use_alloc_cq(values& v) {
  if (v.a_bool) return alloc_cq();
  return alloc_cq_x()
      .runtime(v.a_runtime_t)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .sync_threshold(v.a_int)
      .zero_copy_am(v.a_bool)
      .cq_type(v.a_attr_cq_type_t)
      .cq_default_length(v.a_int)();
}

[[maybe_unused]] status_t use_cq_pop(values& v) {
  if (v.a_bool) return cq_pop(v.a_comp_t);
  return cq_pop_x(v.a_comp_t).runtime(v.a_runtime_t).comp(v.a_comp_t)();
}

[[maybe_unused]] comp_t use_alloc_handler(values& v) {
  if (v.a_bool) return alloc_handler(v.a_comp_handler_t);
  return alloc_handler_x(v.a_comp_handler_t)
      .runtime(v.a_runtime_t)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .sync_threshold(v.a_int)
      .zero_copy_am(v.a_bool)
      .cq_type(v.a_attr_cq_type_t)
      .cq_default_length(v.a_int)
      .handler(v.a_comp_handler_t)();
}

[[maybe_unused]] comp_t use_alloc_graph(values& v) {
  if (v.a_bool) return alloc_graph();
  return alloc_graph_x()
      .comp(v.a_comp_t)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .runtime(v.a_runtime_t)
      .sync_threshold(v.a_int)
      .zero_copy_am(v.a_bool)
      .cq_type(v.a_attr_cq_type_t)
      .cq_default_length(v.a_int)();
}

[[maybe_unused]] graph_node_t use_graph_add_node(values& v) {
  if (v.a_bool) return graph_add_node(v.a_comp_t, v.a_graph_node_run_cb_t);
  return graph_add_node_x(v.a_comp_t, v.a_graph_node_run_cb_t)
      .value(v.a_void_ptr)
      .free_cb(v.a_graph_node_free_cb_t)
      .runtime(v.a_runtime_t)
      .comp(v.a_comp_t)
      .fn(v.a_graph_node_run_cb_t)();
}

[[maybe_unused]] void use_graph_add_edge(values& v) {
  if (v.a_bool) return graph_add_edge(v.a_comp_t, v.a_graph_node_t, v.a_graph_node_t);
  return graph_add_edge_x(v.a_comp_t, v.a_graph_node_t, v.a_graph_node_t)
      .fn(v.a_graph_edge_run_cb_t)
      .runtime(v.a_runtime_t)
      .comp(v.a_comp_t)
      .src(v.a_graph_node_t)
      .dst(v.a_graph_node_t)();
}

[[maybe_unused]] void use_graph_node_mark_complete(values& v) {
  if (v.a_bool) return graph_node_mark_complete(v.a_graph_node_t);
  return graph_node_mark_complete_x(v.a_graph_node_t)
      .status(v.a_status_t)
      .runtime(v.a_runtime_t)
      .node(v.a_graph_node_t)();
}

[[maybe_unused]] void use_graph_start(values& v) {
  if (v.a_bool) return graph_start(v.a_comp_t);
  return graph_start_x(v.a_comp_t).runtime(v.a_runtime_t).comp(v.a_comp_t)();
}

[[maybe_unused]] status_t use_graph_test(values& v) {
  if (v.a_bool) return graph_test(v.a_comp_t);
  return graph_test_x(v.a_comp_t).runtime(v.a_runtime_t).comp(v.a_comp_t)();
}

[[maybe_unused]] status_t use_post_comm(values& v) {
  if (v.a_bool) return post_comm(v.a_direction_t, v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t);
  return post_comm_x(v.a_direction_t, v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .matching_engine(v.a_matching_engine_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .remote_disp(v.a_uintptr_t)
      .rmr(v.a_rmr_t)
      .tag(v.a_tag_t)
      .remote_comp(v.a_rcomp_t)
      .user_context(v.a_void_ptr)
      .matching_policy(v.a_matching_policy_t)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .direction(v.a_direction_t)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .local_comp(v.a_comp_t)();
}

[[maybe_unused]] status_t use_post_am(values& v) {
  if (v.a_bool) return post_am(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_rcomp_t);
  return post_am_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_rcomp_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .tag(v.a_tag_t)
      .user_context(v.a_void_ptr)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .local_comp(v.a_comp_t)
      .remote_comp(v.a_rcomp_t)();
}

[[maybe_unused]] status_t use_post_send(values& v) {
  if (v.a_bool) return post_send(v.a_int, v.a_void_ptr, v.a_size_t, v.a_tag_t, v.a_comp_t);
  return post_send_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_tag_t, v.a_comp_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .matching_engine(v.a_matching_engine_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .user_context(v.a_void_ptr)
      .matching_policy(v.a_matching_policy_t)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .tag(v.a_tag_t)
      .local_comp(v.a_comp_t)();
}

[[maybe_unused]] status_t use_post_recv(values& v) {
  if (v.a_bool) return post_recv(v.a_int, v.a_void_ptr, v.a_size_t, v.a_tag_t, v.a_comp_t);
  return post_recv_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_tag_t, v.a_comp_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .matching_engine(v.a_matching_engine_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .user_context(v.a_void_ptr)
      .matching_policy(v.a_matching_policy_t)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .tag(v.a_tag_t)
      .local_comp(v.a_comp_t)();
}

[[maybe_unused]] status_t use_post_put(values& v) {
  if (v.a_bool) return post_put(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_uintptr_t, v.a_rmr_t);
  return post_put_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_uintptr_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .tag(v.a_tag_t)
      .remote_comp(v.a_rcomp_t)
      .user_context(v.a_void_ptr)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .local_comp(v.a_comp_t)
      .remote_disp(v.a_uintptr_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] status_t use_post_get(values& v) {
  if (v.a_bool) return post_get(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_uintptr_t, v.a_rmr_t);
  return post_get_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_comp_t, v.a_uintptr_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .packet_pool(v.a_packet_pool_t)
      .comp_semantic(v.a_comp_semantic_t)
      .mr(v.a_mr_t)
      .tag(v.a_tag_t)
      .remote_comp(v.a_rcomp_t)
      .user_context(v.a_void_ptr)
      .allow_done(v.a_bool)
      .allow_posted(v.a_bool)
      .allow_retry(v.a_bool)
      .rank(v.a_int)
      .local_buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .local_comp(v.a_comp_t)
      .remote_disp(v.a_uintptr_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] lci::error_t use_progress(values& v) {
  if (v.a_bool) return progress();
  return progress_x().runtime(v.a_runtime_t).device(v.a_device_t).endpoint(v.a_endpoint_t)();
}

[[maybe_unused]] lci::error_t use_test_drained(values& v) {
  if (v.a_bool) return test_drained();
  return test_drained_x().runtime(v.a_runtime_t).device(v.a_device_t)();
}

[[maybe_unused]] void use_wait_drained(values& v) {
  if (v.a_bool) return wait_drained();
  return wait_drained_x().runtime(v.a_runtime_t).device(v.a_device_t)();
}

}  // namespace
