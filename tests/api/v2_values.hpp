// Arguments for the calls of the published names.
#pragma once

#include <lci.hpp>

#include <string>
#include <type_traits>

namespace lci {

// The arguments that calls below are made with.
struct values {
  const char* a_char_ptr{};
  void* a_void_ptr{};
  runtime_t* a_runtime_t_ptr{};
  size_t a_size_t{};
  int a_int{};
  attr_rdv_protocol_t a_attr_rdv_protocol_t{};
  bool a_bool{};
  std::string a_string{};
  runtime_t a_runtime_t{};
  packet_pool_t* a_packet_pool_t_ptr{};
  packet_pool_t a_packet_pool_t{};
  device_t a_device_t{};
  matching_engine_t* a_matching_engine_t_ptr{};
  matching_engine_t a_matching_engine_t{};
  matching_entry_key_t a_matching_entry_key_t{};
  matching_entry_val_t a_matching_entry_val_t{};
  matching_entry_type_t a_matching_entry_type_t{};
  allocator_base_t* a_allocator_base_t_ptr{};
  net_context_t* a_net_context_t_ptr{};
  net_context_t a_net_context_t{};
  device_t* a_device_t_ptr{};
  mr_t* a_mr_t_ptr{};
  mr_t a_mr_t{};
  endpoint_t* a_endpoint_t_ptr{};
  comp_t* a_comp_t_ptr{};
  comp_t a_comp_t{};
  status_t a_status_t{};
  rcomp_t a_rcomp_t{};
  status_t* a_status_t_ptr{};
  int64_t a_int64_t{};
  comp_handler_t a_comp_handler_t{};
  graph_node_run_cb_t a_graph_node_run_cb_t{};
  graph_node_free_cb_t a_graph_node_free_cb_t{};
  graph_node_t a_graph_node_t{};
  graph_edge_run_cb_t a_graph_edge_run_cb_t{};
  direction_t a_direction_t{};
  endpoint_t a_endpoint_t{};
  comp_semantic_t a_comp_semantic_t{};
  uintptr_t a_uintptr_t{};
  rmr_t a_rmr_t{};
  tag_t a_tag_t{};
  matching_policy_t a_matching_policy_t{};
  uint64_t a_uint64_t{};
  attr_matching_engine_type_t a_attr_matching_engine_type_t{};
  attr_backend_t a_attr_backend_t{};
  attr_ibv_odp_strategy_t a_attr_ibv_odp_strategy_t{};
  attr_ibv_prefetch_strategy_t a_attr_ibv_prefetch_strategy_t{};
  double a_double{};
  attr_ibv_td_strategy_t a_attr_ibv_td_strategy_t{};
  attr_comp_type_t a_attr_comp_type_t{};
  attr_cq_type_t a_attr_cq_type_t{};
  net_status_t* a_net_status_t_ptr{};
  net_imm_data_t a_net_imm_data_t{};
  reduce_op_t a_reduce_op_t{};
  broadcast_algorithm_t a_broadcast_algorithm_t{};
  reduce_scatter_algorithm_t a_reduce_scatter_algorithm_t{};
  allreduce_algorithm_t a_allreduce_algorithm_t{};
};

}  // namespace lci
