// What published programs use beyond the tables: classes behind handles, untyped pointers, texts of enumerations,
// macros, and types. It only has to compile.
#include <lci.hpp>

#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>

namespace {

using namespace lci;

// --- the class behind a handle, its attributes, and implicit conversion of pointers to handles ---

template <class Handle, class Impl, class Attr>
constexpr bool usual_handle =
    std::is_same_v<decltype(Handle::p_impl), Impl*>&& std::is_same_v<typename Handle::attr_t, Attr>&&
        std::is_convertible_v<Impl*, Handle>&& std::is_convertible_v<void*, Handle> &&
    sizeof(Handle) == sizeof(void*);
static_assert(usual_handle<runtime_t, runtime_impl_t, runtime_attr_t>);
static_assert(usual_handle<net_context_t, net_context_impl_t, net_context_attr_t>);
static_assert(usual_handle<device_t, device_impl_t, device_attr_t>);
static_assert(usual_handle<endpoint_t, endpoint_impl_t, endpoint_attr_t>);
static_assert(usual_handle<packet_pool_t, packet_pool_impl_t, packet_pool_attr_t>);
static_assert(usual_handle<matching_engine_t, matching_engine_impl_t, matching_engine_attr_t>);
static_assert(usual_handle<mr_t, mr_impl_t, mr_attr_t>);
static_assert(usual_handle<comp_t, comp_impl_t, comp_attr_t>);

struct kept_by_a_program {
  void* device = nullptr;
  mr_impl_t* mr = nullptr;
};

[[maybe_unused]] status_t use_kept(const kept_by_a_program& kept, void* buffer, comp_t comp) {
  const device_t device = kept.device;
  return post_send_x(0, buffer, 8, 0, comp).device(device).mr(kept.mr)();
}

[[maybe_unused]] comp_t take_kept(void* popped) {
  comp_t comp = popped;
  return comp;
}

[[maybe_unused]] bool use_registration(mr_t mr) {
  const mr_attr_t attr = mr.get_attr();
  return attr.name == mr.get_attr_name() && attr.user_context == mr.get_attr_user_context();
}

// --- a registration as bytes ---

static_assert(sizeof(rmr_t) == 24 && std::is_trivially_copyable_v<rmr_t>);

// --- members of a status ---

static_assert(std::is_same_v<decltype(std::declval<const status_t&>().get_buffer()), void*>);
static_assert(std::is_same_v<decltype(std::declval<const status_t&>().get_size()), size_t>);
static_assert(std::is_same_v<decltype(std::declval<const status_t&>().get_rank()), int>);
static_assert(std::is_same_v<decltype(std::declval<const status_t&>().get_tag()), tag_t>);
static_assert(std::is_same_v<decltype(std::declval<const status_t&>().get_user_context()), void*>);

[[maybe_unused]] char first_byte(const status_t& status) {
  auto* untyped = status.get_buffer();
  char* text = reinterpret_cast<char*>(status.get_buffer());
  const auto* numbers = static_cast<const int*>(status.get_buffer());
  return untyped == numbers ? *text : '\0';
}

// --- nodes of graphs ---

[[maybe_unused]] uintptr_t use_node(comp_t graph, void* buffer) {
  const graph_node_t node = graph_add_node(graph, GRAPH_NODE_DUMMY_CB);
  static_cast<void>(post_send_x(0, buffer, 8, 0, graph).user_context(node)());
  void* untyped = node;
  graph_node_t again = untyped;
  graph_add_edge(graph, GRAPH_START, again);
  graph_add_edge(graph, again, GRAPH_END);
  const graph_node_run_cb_t nothing = GRAPH_NODE_DUMMY_CB;
  return reinterpret_cast<uintptr_t>(reinterpret_cast<kept_by_a_program*>(node)) + (nothing == nullptr);
}

// --- names ---

static_assert(std::is_same_v<std::underlying_type_t<matching_policy_t>, unsigned>);
static_assert(std::is_same_v<std::underlying_type_t<matching_entry_type_t>, unsigned>);
static_assert(LCI_NET_TRYLOCK_MAX == 1 << 4);
static_assert(LCI_BACKEND_MAX_POLLS > 0 && LCI_PACKET_SIZE_DEFAULT > 0 && LCI_CACHE_LINE == 64);
static_assert(std::is_base_of_v<allocator_base_t, allocator_default_t>);

char aligned_by_macro alignas(LCI_CACHE_LINE);

[[maybe_unused]] std::string use_names(option_t<int> depth) {
  const char* texts[] = {get_net_opcode_str(net_opcode_t::RECV),
                         get_broadcast_algorithm_str(broadcast_algorithm_t::tree),
                         get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t::ring),
                         get_allreduce_algorithm_str(allreduce_algorithm_t::direct),
                         get_direction_str(direction_t::IN),
                         get_matching_policy_str(matching_policy_t::tag_only),
                         get_matching_entry_type_str(matching_entry_type_t::recv),
                         get_comp_semantic_str(comp_semantic_t::network),
                         get_attr_backend_str(attr_backend_t::ofi),
                         get_attr_rdv_protocol_str(attr_rdv_protocol_t::writeimm),
                         get_attr_matching_engine_type_str(attr_matching_engine_type_t::map),
                         get_attr_comp_type_str(attr_comp_type_t::sync),
                         get_attr_cq_type_str(attr_cq_type_t::lcrq),
                         get_attr_ibv_odp_strategy_str(attr_ibv_odp_strategy_t::none),
                         get_attr_ibv_prefetch_strategy_str(attr_ibv_prefetch_strategy_t::none),
                         get_attr_ibv_td_strategy_str(attr_ibv_td_strategy_t::per_qp),
                         DEFAULT_NAME,
                         LCI_VERSION_FULL};
  allocator_base_t* allocator = &g_allocator_default;
  allocator->deallocate(allocator->allocate(64));
  runtime_t runtime = alloc_runtime_x().name(DEFAULT_NAME).device_name(std::string())();
  free_runtime(&runtime);
  aligned_by_macro = static_cast<char>(depth.get_value_or(3) + option_t<int>(4).get_value_or(5));
  return texts[0] + std::string(texts[std::size(texts) - 1]);
}

// --- functors of a program as nodes ---

struct own_operation {
  void* context = nullptr;
  own_operation& user_context(void* c) {
    context = c;
    return *this;
  }
  status_t operator()() const { return errorcode_t::done; }
};
struct own_operation_without_result {
  void user_context(void*) {}
  void operator()() {}
};
struct own_operation_with_comp {
  void user_context(void*) {}
  void local_comp(comp_t) {}
  errorcode_t operator()() { return errorcode_t::posted; }
};

[[maybe_unused]] void use_functors(comp_t graph) {
  const own_operation kept;
  graph_node_t node = graph_add_node_op(graph, kept);
  node = graph_add_node_op(graph, own_operation_without_result());
  node = graph_add_node_op(graph, own_operation_with_comp());
  graph_add_edge(graph, node, GRAPH_END);
}

}  // namespace
