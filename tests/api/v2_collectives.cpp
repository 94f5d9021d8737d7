// The published v2 collectives, with each of their setters.
// It only has to compile, with each compiler and the strictest warnings of clients. Written from the published tables,
// not from api_dsl, so that a name that is missing there is an error here.
// clang-format off: tables, not code.
#include "tests/api/v2_values.hpp"

namespace {

using namespace lci;

[[maybe_unused]] void use_barrier(values& v) {
  if (v.a_bool) return barrier();
  return barrier_x()
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .comp_semantic(v.a_comp_semantic_t)
      .comp(v.a_comp_t)();
}

[[maybe_unused]] void use_broadcast(values& v) {
  if (v.a_bool) return broadcast(v.a_void_ptr, v.a_size_t, v.a_int);
  return broadcast_x(v.a_void_ptr, v.a_size_t, v.a_int)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .comp(v.a_comp_t)
      .algorithm(v.a_broadcast_algorithm_t)
      .ring_nsteps(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .root(v.a_int)();
}

[[maybe_unused]] void use_reduce(values& v) {
  if (v.a_bool) return reduce(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t, v.a_int);
  return reduce_x(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t, v.a_int)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .sendbuf(v.a_void_ptr)
      .recvbuf(v.a_void_ptr)
      .count(v.a_size_t)
      .item_size(v.a_size_t)
      .op(v.a_reduce_op_t)
      .root(v.a_int)();
}

[[maybe_unused]] void use_reduce_scatter(values& v) {
  if (v.a_bool) return reduce_scatter(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t);
  return reduce_scatter_x(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .comp(v.a_comp_t)
      .algorithm(v.a_reduce_scatter_algorithm_t)
      .ring_nsteps(v.a_int)
      .sendbuf(v.a_void_ptr)
      .recvbuf(v.a_void_ptr)
      .recvcount(v.a_size_t)
      .item_size(v.a_size_t)
      .op(v.a_reduce_op_t)();
}

[[maybe_unused]] void use_allreduce(values& v) {
  if (v.a_bool) return allreduce(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t);
  return allreduce_x(v.a_void_ptr, v.a_void_ptr, v.a_size_t, v.a_size_t, v.a_reduce_op_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .comp(v.a_comp_t)
      .algorithm(v.a_allreduce_algorithm_t)
      .ring_nsteps(v.a_int)
      .sendbuf(v.a_void_ptr)
      .recvbuf(v.a_void_ptr)
      .count(v.a_size_t)
      .item_size(v.a_size_t)
      .op(v.a_reduce_op_t)();
}

[[maybe_unused]] void use_allgather(values& v) {
  if (v.a_bool) return allgather(v.a_void_ptr, v.a_void_ptr, v.a_size_t);
  return allgather_x(v.a_void_ptr, v.a_void_ptr, v.a_size_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .sendbuf(v.a_void_ptr)
      .recvbuf(v.a_void_ptr)
      .size(v.a_size_t)();
}

[[maybe_unused]] void use_alltoall(values& v) {
  if (v.a_bool) return alltoall(v.a_void_ptr, v.a_void_ptr, v.a_size_t);
  return alltoall_x(v.a_void_ptr, v.a_void_ptr, v.a_size_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .matching_engine(v.a_matching_engine_t)
      .comp(v.a_comp_t)
      .comp_semantic(v.a_comp_semantic_t)
      .sendbuf(v.a_void_ptr)
      .recvbuf(v.a_void_ptr)
      .size(v.a_size_t)();
}

[[maybe_unused]] void use_algorithms(values& v) {
  v.a_broadcast_algorithm_t = broadcast_algorithm_t::none;
  v.a_broadcast_algorithm_t = broadcast_algorithm_t::direct;
  v.a_broadcast_algorithm_t = broadcast_algorithm_t::tree;
  v.a_broadcast_algorithm_t = broadcast_algorithm_t::ring;
  v.a_reduce_scatter_algorithm_t = reduce_scatter_algorithm_t::none;
  v.a_reduce_scatter_algorithm_t = reduce_scatter_algorithm_t::direct;
  v.a_reduce_scatter_algorithm_t = reduce_scatter_algorithm_t::tree;
  v.a_reduce_scatter_algorithm_t = reduce_scatter_algorithm_t::ring;
  v.a_allreduce_algorithm_t = allreduce_algorithm_t::none;
  v.a_allreduce_algorithm_t = allreduce_algorithm_t::direct;
  v.a_allreduce_algorithm_t = allreduce_algorithm_t::tree;
  v.a_allreduce_algorithm_t = allreduce_algorithm_t::ring;
}

}  // namespace
