// The published v2 raw network operations, with each of their setters.
// It only has to compile, with each compiler and the strictest warnings of clients. Written from the published tables,
// not from api_dsl, so that a name that is missing there is an error here.
// clang-format off: tables, not code.
#include "tests/api/v2_values.hpp"

namespace {

using namespace lci;

[[maybe_unused]] size_t use_net_poll_cq(values& v) {
  if (v.a_bool) return net_poll_cq(v.a_size_t, v.a_net_status_t_ptr);
  return net_poll_cq_x(v.a_size_t, v.a_net_status_t_ptr)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .max_polls(v.a_size_t)
      .statuses(v.a_net_status_t_ptr)();
}

[[maybe_unused]] lci::error_t use_net_post_recv(values& v) {
  if (v.a_bool) return net_post_recv(v.a_void_ptr, v.a_size_t, v.a_mr_t);
  return net_post_recv_x(v.a_void_ptr, v.a_size_t, v.a_mr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .user_context(v.a_void_ptr)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .mr(v.a_mr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_sends(values& v) {
  if (v.a_bool) return net_post_sends(v.a_int, v.a_void_ptr, v.a_size_t);
  return net_post_sends_x(v.a_int, v.a_void_ptr, v.a_size_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .imm_data(v.a_net_imm_data_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)();
}

[[maybe_unused]] lci::error_t use_net_post_send(values& v) {
  if (v.a_bool) return net_post_send(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t);
  return net_post_send_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .imm_data(v.a_net_imm_data_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .mr(v.a_mr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_puts(values& v) {
  if (v.a_bool) return net_post_puts(v.a_int, v.a_void_ptr, v.a_size_t, v.a_uint64_t, v.a_rmr_t);
  return net_post_puts_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_uint64_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .offset(v.a_uint64_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_put(values& v) {
  if (v.a_bool) return net_post_put(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t);
  return net_post_put_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .mr(v.a_mr_t)
      .offset(v.a_uint64_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_putImms(values& v) {
  if (v.a_bool) return net_post_putImms(v.a_int, v.a_void_ptr, v.a_size_t, v.a_uint64_t, v.a_rmr_t);
  return net_post_putImms_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_uint64_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .imm_data(v.a_net_imm_data_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .offset(v.a_uint64_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_putImm(values& v) {
  if (v.a_bool) return net_post_putImm(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t);
  return net_post_putImm_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .imm_data(v.a_net_imm_data_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .mr(v.a_mr_t)
      .offset(v.a_uint64_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] lci::error_t use_net_post_get(values& v) {
  if (v.a_bool) return net_post_get(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t);
  return net_post_get_x(v.a_int, v.a_void_ptr, v.a_size_t, v.a_mr_t, v.a_uint64_t, v.a_rmr_t)
      .runtime(v.a_runtime_t)
      .device(v.a_device_t)
      .endpoint(v.a_endpoint_t)
      .user_context(v.a_void_ptr)
      .rank(v.a_int)
      .buffer(v.a_void_ptr)
      .size(v.a_size_t)
      .mr(v.a_mr_t)
      .offset(v.a_uint64_t)
      .rmr(v.a_rmr_t)();
}

[[maybe_unused]] bool use_net_status(const net_status_t& status) {
  const net_opcode_t opcode = status.opcode;
  const int rank = status.rank;
  void* const context = status.user_context;
  const size_t length = status.length;
  const net_imm_data_t imm = status.imm_data;
  switch (opcode) {
    case net_opcode_t::SEND:
    case net_opcode_t::RECV:
    case net_opcode_t::WRITE:
    case net_opcode_t::REMOTE_WRITE:
    case net_opcode_t::READ:
    case net_opcode_t::ERROR:
      return rank >= 0 && context != nullptr && length != 0 && imm != 0;
  }
  return false;
}

}  // namespace
