// The published v2 types, constants, attributes and error codes, used as clients use them.
// It only has to compile, with each compiler and the strictest warnings of clients. Written from the published tables,
// not from api_dsl, so that a name that is missing there is an error here.
// clang-format off: tables, not code.
#include "tests/api/v2_values.hpp"

namespace {

using namespace lci;

[[maybe_unused]] void use_getters(values& v, global_attr_t& g) {
  v.a_size_t = runtime_t().get_attr_packet_return_threshold();
  g.packet_return_threshold = v.a_size_t;
  v.a_int = runtime_t().get_attr_imm_nbits_tag();
  g.imm_nbits_tag = v.a_int;
  v.a_int = runtime_t().get_attr_imm_nbits_rcomp();
  g.imm_nbits_rcomp = v.a_int;
  v.a_attr_rdv_protocol_t = runtime_t().get_attr_rdv_protocol();
  g.rdv_protocol = v.a_attr_rdv_protocol_t;
  v.a_uint64_t = runtime_t().get_attr_max_imm_tag();
  v.a_uint64_t = runtime_t().get_attr_max_imm_rcomp();
  v.a_uint64_t = runtime_t().get_attr_max_tag();
  v.a_uint64_t = runtime_t().get_attr_max_rcomp();
  v.a_bool = runtime_t().get_attr_alloc_default_device();
  g.alloc_default_device = v.a_bool;
  v.a_bool = runtime_t().get_attr_alloc_default_packet_pool();
  g.alloc_default_packet_pool = v.a_bool;
  v.a_bool = runtime_t().get_attr_alloc_default_matching_engine();
  g.alloc_default_matching_engine = v.a_bool;
  v.a_size_t = packet_pool_t().get_attr_packet_size();
  g.packet_size = v.a_size_t;
  v.a_size_t = packet_pool_t().get_attr_npackets();
  g.npackets = v.a_size_t;
  v.a_attr_matching_engine_type_t = matching_engine_t().get_attr_matching_engine_type();
  g.matching_engine_type = v.a_attr_matching_engine_type_t;
  v.a_attr_backend_t = net_context_t().get_attr_backend();
  g.backend = v.a_attr_backend_t;
  v.a_string = net_context_t().get_attr_ofi_provider_name();
  g.ofi_provider_name = v.a_string;
  v.a_size_t = net_context_t().get_attr_max_msg_size();
  g.max_msg_size = v.a_size_t;
  v.a_size_t = net_context_t().get_attr_max_inject_size();
  g.max_inject_size = v.a_size_t;
  v.a_int = net_context_t().get_attr_ibv_gid_idx();
  g.ibv_gid_idx = v.a_int;
  v.a_bool = net_context_t().get_attr_ibv_force_gid_auto_select();
  g.ibv_force_gid_auto_select = v.a_bool;
  v.a_string = net_context_t().get_attr_device_name();
  g.device_name = v.a_string;
  v.a_attr_ibv_odp_strategy_t = net_context_t().get_attr_ibv_odp_strategy();
  g.ibv_odp_strategy = v.a_attr_ibv_odp_strategy_t;
  v.a_attr_ibv_prefetch_strategy_t = net_context_t().get_attr_ibv_prefetch_strategy();
  g.ibv_prefetch_strategy = v.a_attr_ibv_prefetch_strategy_t;
  v.a_bool = net_context_t().get_attr_support_putimm();
  v.a_bool = net_context_t().get_attr_use_dmabuf();
  g.use_dmabuf = v.a_bool;
  v.a_size_t = device_t().get_attr_net_max_sends();
  g.net_max_sends = v.a_size_t;
  v.a_size_t = device_t().get_attr_net_max_recvs();
  g.net_max_recvs = v.a_size_t;
  v.a_size_t = device_t().get_attr_net_max_cqes();
  g.net_max_cqes = v.a_size_t;
  v.a_double = device_t().get_attr_net_send_reserved_pct();
  g.net_send_reserved_pct = v.a_double;
  v.a_uint64_t = device_t().get_attr_ofi_lock_mode();
  g.ofi_lock_mode = v.a_uint64_t;
  v.a_bool = device_t().get_attr_alloc_default_endpoint();
  g.alloc_default_endpoint = v.a_bool;
  v.a_bool = device_t().get_attr_alloc_progress_endpoint();
  g.alloc_progress_endpoint = v.a_bool;
  v.a_bool = device_t().get_attr_use_reg_cache();
  g.use_reg_cache = v.a_bool;
  v.a_bool = device_t().get_attr_shm_enable();
  g.shm_enable = v.a_bool;
  v.a_size_t = device_t().get_attr_shm_ring_size();
  g.shm_ring_size = v.a_size_t;
  v.a_size_t = device_t().get_attr_shm_slot_size();
  g.shm_slot_size = v.a_size_t;
  v.a_size_t = device_t().get_attr_shm_producer_cas_attempts();
  g.shm_producer_cas_attempts = v.a_size_t;
  v.a_size_t = device_t().get_attr_shm_consumer_cas_attempts();
  g.shm_consumer_cas_attempts = v.a_size_t;
  v.a_size_t = device_t().get_attr_shm_max_polls();
  g.shm_max_polls = v.a_size_t;
  v.a_int = device_t().get_attr_uid();
  v.a_attr_ibv_td_strategy_t = device_t().get_attr_ibv_td_strategy();
  g.ibv_td_strategy = v.a_attr_ibv_td_strategy_t;
  v.a_int = endpoint_t().get_attr_uid();
  v.a_attr_comp_type_t = comp_t().get_attr_comp_type();
  v.a_int = comp_t().get_attr_sync_threshold();
  g.sync_threshold = v.a_int;
  v.a_bool = comp_t().get_attr_zero_copy_am();
  g.zero_copy_am = v.a_bool;
  v.a_attr_cq_type_t = comp_t().get_attr_cq_type();
  g.cq_type = v.a_attr_cq_type_t;
  v.a_int = comp_t().get_attr_cq_default_length();
  g.cq_default_length = v.a_int;
  set_g_default_attr(g);
  g = get_g_default_attr();
}

[[maybe_unused]] void use_attribute_structs() {
  runtime_attr_t runtime;
  static_cast<void>(runtime.packet_return_threshold);
  static_cast<void>(runtime.imm_nbits_tag);
  static_cast<void>(runtime.imm_nbits_rcomp);
  static_cast<void>(runtime.rdv_protocol);
  static_cast<void>(runtime.max_imm_tag);
  static_cast<void>(runtime.max_imm_rcomp);
  static_cast<void>(runtime.max_tag);
  static_cast<void>(runtime.max_rcomp);
  static_cast<void>(runtime.alloc_default_device);
  static_cast<void>(runtime.alloc_default_packet_pool);
  static_cast<void>(runtime.alloc_default_matching_engine);
  packet_pool_attr_t packet_pool;
  static_cast<void>(packet_pool.packet_size);
  static_cast<void>(packet_pool.npackets);
  matching_engine_attr_t matching_engine;
  static_cast<void>(matching_engine.matching_engine_type);
  net_context_attr_t net_context;
  static_cast<void>(net_context.backend);
  static_cast<void>(net_context.ofi_provider_name);
  static_cast<void>(net_context.max_msg_size);
  static_cast<void>(net_context.max_inject_size);
  static_cast<void>(net_context.ibv_gid_idx);
  static_cast<void>(net_context.ibv_force_gid_auto_select);
  static_cast<void>(net_context.device_name);
  static_cast<void>(net_context.ibv_odp_strategy);
  static_cast<void>(net_context.ibv_prefetch_strategy);
  static_cast<void>(net_context.support_putimm);
  static_cast<void>(net_context.use_dmabuf);
  device_attr_t device;
  static_cast<void>(device.net_max_sends);
  static_cast<void>(device.net_max_recvs);
  static_cast<void>(device.net_max_cqes);
  static_cast<void>(device.net_send_reserved_pct);
  static_cast<void>(device.ofi_lock_mode);
  static_cast<void>(device.alloc_default_endpoint);
  static_cast<void>(device.alloc_progress_endpoint);
  static_cast<void>(device.use_reg_cache);
  static_cast<void>(device.shm_enable);
  static_cast<void>(device.shm_ring_size);
  static_cast<void>(device.shm_slot_size);
  static_cast<void>(device.shm_producer_cas_attempts);
  static_cast<void>(device.shm_consumer_cas_attempts);
  static_cast<void>(device.shm_max_polls);
  static_cast<void>(device.uid);
  static_cast<void>(device.ibv_td_strategy);
  endpoint_attr_t endpoint;
  static_cast<void>(endpoint.uid);
  comp_attr_t comp;
  static_cast<void>(comp.comp_type);
  static_cast<void>(comp.sync_threshold);
  static_cast<void>(comp.zero_copy_am);
  static_cast<void>(comp.cq_type);
  static_cast<void>(comp.cq_default_length);
}

[[maybe_unused]] void use_attribute_values(values& v) {
  v.a_attr_rdv_protocol_t = attr_rdv_protocol_t::auto_select;
  v.a_attr_rdv_protocol_t = attr_rdv_protocol_t::write;
  v.a_attr_rdv_protocol_t = attr_rdv_protocol_t::writeimm;
  v.a_attr_matching_engine_type_t = attr_matching_engine_type_t::queue;
  v.a_attr_matching_engine_type_t = attr_matching_engine_type_t::map;
  v.a_attr_ibv_odp_strategy_t = attr_ibv_odp_strategy_t::none;
  v.a_attr_ibv_odp_strategy_t = attr_ibv_odp_strategy_t::explicit_odp;
  v.a_attr_ibv_odp_strategy_t = attr_ibv_odp_strategy_t::implicit_odp;
  v.a_attr_ibv_prefetch_strategy_t = attr_ibv_prefetch_strategy_t::none;
  v.a_attr_ibv_prefetch_strategy_t = attr_ibv_prefetch_strategy_t::prefetch;
  v.a_attr_ibv_prefetch_strategy_t = attr_ibv_prefetch_strategy_t::prefetch_write;
  v.a_attr_ibv_prefetch_strategy_t = attr_ibv_prefetch_strategy_t::prefetch_no_fault;
  v.a_attr_ibv_td_strategy_t = attr_ibv_td_strategy_t::none;
  v.a_attr_ibv_td_strategy_t = attr_ibv_td_strategy_t::all_qp;
  v.a_attr_ibv_td_strategy_t = attr_ibv_td_strategy_t::per_qp;
  v.a_attr_comp_type_t = attr_comp_type_t::sync;
  v.a_attr_comp_type_t = attr_comp_type_t::counter;
  v.a_attr_comp_type_t = attr_comp_type_t::cq;
  v.a_attr_comp_type_t = attr_comp_type_t::handler;
  v.a_attr_comp_type_t = attr_comp_type_t::graph;
  v.a_attr_comp_type_t = attr_comp_type_t::custom;
  v.a_attr_cq_type_t = attr_cq_type_t::array_atomic;
  v.a_attr_cq_type_t = attr_cq_type_t::lcrq;
}

[[maybe_unused]] bool use_errorcodes(errorcode_t e) {
  switch (e) {
    case errorcode_t::done:
    case errorcode_t::done_backlog:
    case errorcode_t::posted:
    case errorcode_t::posted_backlog:
    case errorcode_t::retry:
    case errorcode_t::retry_init:
    case errorcode_t::retry_lock:
    case errorcode_t::retry_nopacket:
    case errorcode_t::retry_nomem:
    case errorcode_t::retry_backlog:
    case errorcode_t::fatal:
    case errorcode_t::done_min:
    case errorcode_t::done_max:
    case errorcode_t::posted_min:
    case errorcode_t::posted_max:
    case errorcode_t::retry_min:
    case errorcode_t::retry_max:
      return get_errorcode_str(e) != nullptr;
    default:
      return false;
  }
}

[[maybe_unused]] bool use_error(lci::error_t e) {
  e = errorcode_t::posted;
  e.reset_retry();
  return e.is_done() || e.is_posted() || e.is_retry() || e.get_str() != nullptr ||
         e.errorcode == errorcode_t::retry_init;
}

[[maybe_unused]] bool use_status(void* context) {
  status_t status = errorcode_t::done;
  status = status_t(context);
  status.set_done();
  status.set_posted();
  status.set_retry();
  char* text = static_cast<char*>(status.buffer);
  const lci::error_t error = status.get_error();
  const int rank = status.get_rank();
  const size_t size = status.get_size();
  const tag_t tag = status.get_tag();
  void* user = status.get_user_context();
  auto* buffer = status.get_buffer();
  return status.is_done() || status.is_posted() || status.is_retry() || error.is_done() || status.error.is_retry() ||
         rank == status.rank || size == status.size || tag == status.tag || user == status.user_context ||
         buffer == text || reinterpret_cast<char*>(status.get_buffer()) == text || static_cast<int*>(buffer) == context;
}

static_assert(std::is_unsigned_v<tag_t> && sizeof(tag_t) == 8);
static_assert(std::is_unsigned_v<rcomp_t> && sizeof(rcomp_t) == 4);
static_assert(std::is_unsigned_v<net_imm_data_t> && sizeof(net_imm_data_t) == 4);
static_assert(std::is_unsigned_v<matching_entry_key_t> && sizeof(matching_entry_key_t) == 8);
static_assert(std::is_same_v<matching_entry_val_t, void*>);
static_assert(static_cast<int>(matching_entry_type_t::send) == 0);
static_assert(static_cast<int>(matching_entry_type_t::recv) == 1);
static_assert(direction_t::OUT != direction_t::IN);
static_assert(static_cast<int>(matching_policy_t::none) == 0);
static_assert(static_cast<int>(matching_policy_t::rank_only) == 1);
static_assert(static_cast<int>(matching_policy_t::tag_only) == 2);
static_assert(static_cast<int>(matching_policy_t::rank_tag) == 3);
static_assert(static_cast<int>(matching_policy_t::max) == 4);
static_assert(comp_semantic_t::memory != comp_semantic_t::network);
static_assert(attr_backend_t::none != attr_backend_t::ibv);
static_assert(attr_backend_t::ofi != attr_backend_t::ucx);
static_assert(ANY_SOURCE == -1 && ANY_TAG == ~static_cast<tag_t>(0));
static_assert(LCI_NET_TRYLOCK_SEND == 1 && LCI_NET_TRYLOCK_RECV == 2 && LCI_NET_TRYLOCK_POLL == 4);
static_assert(LCI_NET_LOCK_MR == 8 && LCI_NET_LOCK_ALL == 15);
static_assert(std::is_same_v<comp_handler_t, void (*)(status_t)>);
static_assert(std::is_same_v<graph_node_run_cb_t, status_t (*)(void*)>);
static_assert(std::is_same_v<graph_node_free_cb_t, void (*)(void*)>);
static_assert(std::is_same_v<graph_edge_run_cb_t, void (*)(status_t, void*, void*)>);
static_assert(std::is_same_v<reduce_op_t, void (*)(const void*, const void*, void*, size_t)>);
static_assert(std::is_trivially_copyable_v<rmr_t> && std::is_trivially_copyable_v<status_t>);
static_assert(std::is_base_of_v<std::runtime_error, peer_failure_error>);

class own_comp : public comp_impl_t {
 public:
  void signal(status_t status) override { last = status; }
  status_t last;
};

class own_allocator : public allocator_base_t {
 public:
  void* allocate(size_t size) override { return ::operator new(size); }
  void deallocate(void* ptr) override { ::operator delete(ptr); }
};

[[maybe_unused]] bool use_objects(values& v, attr_net_lock_mode_t mode, own_allocator& allocator) {
  global_initialize();
  own_comp own;
  own.attr.zero_copy_am = false;
  comp_t comp(&own);
  comp_impl_t* impl = comp.get_impl();
  v.a_comp_t = COMP_NULL;
  v.a_comp_t = COMP_NULL_EXPECT_DONE;
  v.a_comp_t = COMP_NULL_RETRY;
  v.a_comp_t = COMP_NULL_EXPECT_DONE_OR_RETRY;
  v.a_mr_t = MR_HOST;
  v.a_mr_t = MR_DEVICE;
  v.a_mr_t = MR_UNKNOWN;
  v.a_rmr_t = RMR_NULL;
  v.a_graph_node_t = GRAPH_START;
  v.a_graph_node_t = GRAPH_END;
  v.a_graph_node_t =
      graph_add_node_op(v.a_comp_t, post_send_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_tag_t, v.a_comp_t));
  set_allocator(&allocator);
  alloc_sync_x().threshold(2).zero_copy_am(true)();
  alloc_cq_x().default_length(64).cq_type(attr_cq_type_t::array_atomic).zero_copy_am(true)();
  const bool empty = runtime_t().is_empty() && device_t().is_empty() && v.a_rmr_t.is_empty();
  global_finalize();
  return empty && get_rank_me() < get_rank_n() && mode == LCI_NET_LOCK_ALL && impl != nullptr;
}

[[maybe_unused]] int use_failure() {
  try {
    return progress().is_done();
  } catch (const peer_failure_error& error) {
    return error.failed_rank();
  }
}

}  // namespace
