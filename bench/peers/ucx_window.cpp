#include "bench/peers/ucx_window.hpp"

namespace peers {

ucx_window::ucx_window(ucx_context& context, ucx_worker& worker, forked_job& all, int number, size_t bytes)
    : context_(context),
      worker_(worker),
      signal_(worker, {all.rank == 0, 0}, false),
      local_(lci_perf::make_page_buffer(bytes, 1)) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  check_ucx(ucp_mem_map(context.handle, &params, &memory_), "ucp_mem_map");
  ucp_mem_attr_t has{};
  has.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  check_ucx(ucp_mem_query(memory_, &has), "ucp_mem_query");
  mine_ = static_cast<char*>(has.address);

  void* key = nullptr;
  size_t size = 0;
  check_ucx(ucp_rkey_pack(context.handle, memory_, &key, &size), "ucp_rkey_pack");
  all.publish(number + 2 * all.rank, key, size);
  all.publish(number + 2 * all.rank + 1, &mine_, sizeof mine_);
  ucp_rkey_buffer_release(key);
  all.barrier();
  const int partner = 1 - all.rank;
  check_ucx(ucp_ep_rkey_unpack(worker.endpoint, all.look_up(number + 2 * partner).data(), &key_), "ucp_ep_rkey_unpack");
  std::memcpy(&remote_, all.look_up(number + 2 * partner + 1).data(), sizeof remote_);
}

ucx_window::~ucx_window() {
  ucp_rkey_destroy(key_);
  ucp_mem_unmap(context_.handle, memory_);
}

void ucx_window::fetch_add() {
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
  how.datatype = ucp_dt_make_contig(sizeof one_);
  how.reply_buffer = &before_;
  started(ucp_atomic_op_nbx(worker_.endpoint, UCP_ATOMIC_OP_ADD, &one_, 1, remote_, key_, &how));
}

void ucx_window::put_block() {
  const ucp_request_param_t how{};
  constexpr size_t pitch = lci_perf::matrix_rows * sizeof(double), row = lci_perf::block_rows * sizeof(double);
  for (size_t y = 0; y < lci_perf::block_rows; ++y)
    started(ucp_put_nbx(worker_.endpoint, local_.get() + y * pitch, row, remote_ + y * pitch, key_, &how));
}

}  // namespace peers
