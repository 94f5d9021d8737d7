// The published v2 operations on resources, with each of their setters.
// It only has to compile, with each compiler and the strictest warnings of clients. Written from the published tables,
// not from api_dsl, so that a name that is missing there is an error here.
// clang-format off: tables, not code.
#include "tests/api/v2_values.hpp"

namespace {

using namespace lci;

[[maybe_unused]] runtime_t use_alloc_runtime(values& v) {
  if (v.a_bool) return alloc_runtime();
  return alloc_runtime_x()
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .packet_return_threshold(v.a_size_t)
      .imm_nbits_tag(v.a_int)
      .imm_nbits_rcomp(v.a_int)
      .rdv_protocol(v.a_attr_rdv_protocol_t)
      .alloc_default_device(v.a_bool)
      .alloc_default_packet_pool(v.a_bool)
      .alloc_default_matching_engine(v.a_bool)();
}

[[maybe_unused]] void use_free_runtime(values& v) {
  if (v.a_bool) return free_runtime(v.a_runtime_t_ptr);
  return free_runtime_x(v.a_runtime_t_ptr).runtime(v.a_runtime_t_ptr)();
}

[[maybe_unused]] runtime_t use_g_runtime_init(values& v) {
  if (v.a_bool) return g_runtime_init();
  return g_runtime_init_x()
      .packet_return_threshold(v.a_size_t)
      .imm_nbits_tag(v.a_int)
      .imm_nbits_rcomp(v.a_int)
      .rdv_protocol(v.a_attr_rdv_protocol_t)
      .alloc_default_device(v.a_bool)
      .alloc_default_packet_pool(v.a_bool)
      .alloc_default_matching_engine(v.a_bool)
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .device_name(v.a_string)();
}

[[maybe_unused]] void use_g_runtime_fina(values& v) {
  if (v.a_bool) return g_runtime_fina();
  return g_runtime_fina_x()();
}

[[maybe_unused]] runtime_t use_get_g_runtime(values& v) {
  if (v.a_bool) return get_g_runtime();
  return get_g_runtime_x()();
}

[[maybe_unused]] packet_pool_t use_alloc_packet_pool(values& v) {
  if (v.a_bool) return alloc_packet_pool();
  return alloc_packet_pool_x()
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .runtime(v.a_runtime_t)
      .packet_size(v.a_size_t)
      .npackets(v.a_size_t)();
}

[[maybe_unused]] void use_free_packet_pool(values& v) {
  if (v.a_bool) return free_packet_pool(v.a_packet_pool_t_ptr);
  return free_packet_pool_x(v.a_packet_pool_t_ptr).runtime(v.a_runtime_t).packet_pool(v.a_packet_pool_t_ptr)();
}

[[maybe_unused]] void use_register_packet_pool(values& v) {
  if (v.a_bool) return register_packet_pool(v.a_packet_pool_t, v.a_device_t);
  return register_packet_pool_x(v.a_packet_pool_t, v.a_device_t)
      .runtime(v.a_runtime_t)
      .packet_pool(v.a_packet_pool_t)
      .device(v.a_device_t)();
}

[[maybe_unused]] void use_deregister_packet_pool(values& v) {
  if (v.a_bool) return deregister_packet_pool(v.a_packet_pool_t, v.a_device_t);
  return deregister_packet_pool_x(v.a_packet_pool_t, v.a_device_t)
      .runtime(v.a_runtime_t)
      .packet_pool(v.a_packet_pool_t)
      .device(v.a_device_t)();
}

[[maybe_unused]] void* use_get_upacket(values& v) {
  if (v.a_bool) return get_upacket();
  return get_upacket_x().runtime(v.a_runtime_t).packet_pool(v.a_packet_pool_t)();
}

[[maybe_unused]] void use_put_upacket(values& v) {
  if (v.a_bool) return put_upacket(v.a_void_ptr);
  return put_upacket_x(v.a_void_ptr).runtime(v.a_runtime_t).packet(v.a_void_ptr)();
}

[[maybe_unused]] matching_engine_t use_alloc_matching_engine(values& v) {
  if (v.a_bool) return alloc_matching_engine();
  return alloc_matching_engine_x()
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .runtime(v.a_runtime_t)
      .matching_engine_type(v.a_attr_matching_engine_type_t)();
}

[[maybe_unused]] void use_free_matching_engine(values& v) {
  if (v.a_bool) return free_matching_engine(v.a_matching_engine_t_ptr);
  return free_matching_engine_x(v.a_matching_engine_t_ptr)
      .runtime(v.a_runtime_t)
      .matching_engine(v.a_matching_engine_t_ptr)();
}

[[maybe_unused]] matching_entry_val_t use_matching_engine_insert(values& v) {
  if (v.a_bool)
    return matching_engine_insert(v.a_matching_engine_t, v.a_matching_entry_key_t, v.a_matching_entry_val_t,
                                  v.a_matching_entry_type_t);
  return matching_engine_insert_x(v.a_matching_engine_t, v.a_matching_entry_key_t, v.a_matching_entry_val_t,
                                  v.a_matching_entry_type_t)
      .runtime(v.a_runtime_t)
      .matching_engine(v.a_matching_engine_t)
      .key(v.a_matching_entry_key_t)
      .value(v.a_matching_entry_val_t)
      .entry_type(v.a_matching_entry_type_t)();
}

[[maybe_unused]] void use_set_allocator(values& v) {
  if (v.a_bool) return set_allocator(v.a_allocator_base_t_ptr);
  return set_allocator_x(v.a_allocator_base_t_ptr).runtime(v.a_runtime_t).allocator(v.a_allocator_base_t_ptr)();
}

[[maybe_unused]] allocator_base_t* use_get_allocator(values& v) {
  if (v.a_bool) return get_allocator();
  return get_allocator_x().runtime(v.a_runtime_t)();
}

[[maybe_unused]] net_context_t use_get_default_net_context(values& v) {
  if (v.a_bool) return get_default_net_context();
  return get_default_net_context_x().runtime(v.a_runtime_t)();
}

[[maybe_unused]] device_t use_get_default_device(values& v) {
  if (v.a_bool) return get_default_device();
  return get_default_device_x().runtime(v.a_runtime_t)();
}

[[maybe_unused]] endpoint_t use_get_default_endpoint(values& v) {
  if (v.a_bool) return get_default_endpoint();
  return get_default_endpoint_x().runtime(v.a_runtime_t).device(v.a_device_t)();
}

[[maybe_unused]] packet_pool_t use_get_default_packet_pool(values& v) {
  if (v.a_bool) return get_default_packet_pool();
  return get_default_packet_pool_x().runtime(v.a_runtime_t)();
}

[[maybe_unused]] matching_engine_t use_get_default_matching_engine(values& v) {
  if (v.a_bool) return get_default_matching_engine();
  return get_default_matching_engine_x().runtime(v.a_runtime_t)();
}

[[maybe_unused]] size_t use_get_max_bcopy_size(values& v) {
  if (v.a_bool) return get_max_bcopy_size();
  return get_max_bcopy_size_x().runtime(v.a_runtime_t).packet_pool(v.a_packet_pool_t)();
}

[[maybe_unused]] net_context_t use_alloc_net_context(values& v) {
  if (v.a_bool) return alloc_net_context();
  return alloc_net_context_x()
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .runtime(v.a_runtime_t)
      .backend(v.a_attr_backend_t)
      .ofi_provider_name(v.a_string)
      .max_msg_size(v.a_size_t)
      .max_inject_size(v.a_size_t)
      .ibv_gid_idx(v.a_int)
      .ibv_force_gid_auto_select(v.a_bool)
      .device_name(v.a_string)
      .ibv_odp_strategy(v.a_attr_ibv_odp_strategy_t)
      .ibv_prefetch_strategy(v.a_attr_ibv_prefetch_strategy_t)
      .use_dmabuf(v.a_bool)();
}

[[maybe_unused]] void use_free_net_context(values& v) {
  if (v.a_bool) return free_net_context(v.a_net_context_t_ptr);
  return free_net_context_x(v.a_net_context_t_ptr).runtime(v.a_runtime_t).net_context(v.a_net_context_t_ptr)();
}

[[maybe_unused]] device_t use_alloc_device(values& v) {
  if (v.a_bool) return alloc_device();
  return alloc_device_x()
      .name(v.a_char_ptr)
      .user_context(v.a_void_ptr)
      .runtime(v.a_runtime_t)
      .net_context(v.a_net_context_t)
      .packet_pool(v.a_packet_pool_t)
      .net_max_sends(v.a_size_t)
      .net_max_recvs(v.a_size_t)
      .net_max_cqes(v.a_size_t)
      .net_send_reserved_pct(v.a_double)
      .ofi_lock_mode(v.a_uint64_t)
      .alloc_default_endpoint(v.a_bool)
      .alloc_progress_endpoint(v.a_bool)
      .use_reg_cache(v.a_bool)
      .shm_enable(v.a_bool)
      .shm_ring_size(v.a_size_t)
      .shm_slot_size(v.a_size_t)
      .shm_producer_cas_attempts(v.a_size_t)
      .shm_consumer_cas_attempts(v.a_size_t)
      .shm_max_polls(v.a_size_t)
      .ibv_td_strategy(v.a_attr_ibv_td_strategy_t)();
}

[[maybe_unused]] void use_free_device(values& v) {
  if (v.a_bool) return free_device(v.a_device_t_ptr);
  return free_device_x(v.a_device_t_ptr).runtime(v.a_runtime_t).device(v.a_device_t_ptr)();
}

[[maybe_unused]] mr_t use_register_memory(values& v) {
  if (v.a_bool) return register_memory(v.a_void_ptr, v.a_size_t);
  return register_memory_x(v.a_void_ptr, v.a_size_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .address(v.a_void_ptr)
      .size(v.a_size_t)();
}

[[maybe_unused]] void use_deregister_memory(values& v) {
  if (v.a_bool) return deregister_memory(v.a_mr_t_ptr);
  return deregister_memory_x(v.a_mr_t_ptr).runtime(v.a_runtime_t).mr(v.a_mr_t_ptr)();
}

[[maybe_unused]] rmr_t use_get_rmr(values& v) {
  if (v.a_bool) return get_rmr(v.a_mr_t);
  return get_rmr_x(v.a_mr_t).runtime(v.a_runtime_t).mr(v.a_mr_t)();
}

[[maybe_unused]] endpoint_t use_alloc_endpoint(values& v) {
  if (v.a_bool) return alloc_endpoint();
  return alloc_endpoint_x().name(v.a_char_ptr).user_context(v.a_void_ptr).runtime(v.a_runtime_t).device(v.a_device_t)();
}

[[maybe_unused]] void use_free_endpoint(values& v) {
  if (v.a_bool) return free_endpoint(v.a_endpoint_t_ptr);
  return free_endpoint_x(v.a_endpoint_t_ptr).runtime(v.a_runtime_t).endpoint(v.a_endpoint_t_ptr)();
}

}  // namespace
