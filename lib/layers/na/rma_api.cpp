// Puts and gets.
#include "lib/layers/na/arguments.hpp"
#include "lib/layers/na/memory.hpp"
#include "lib/layers/na/memory_check.hpp"
#include "lib/layers/na/transfer.hpp"

using na::addr;
using na::check;
using na::check_memory;
using na::memory;
using na::operation;

namespace {

struct place {
  na_mem_handle_t handle;
  na_offset_t offset;
};

na_return_t check_range(const char* function, const char* side, const memory& m, uint64_t offset, uint64_t n) {
  if (m.has(offset, n)) return NA_SUCCESS;
  return na::refuse(NA_SIZE_ERROR, function, "%s_offset %llu and data_size %llu leave the handle's %llu bytes", side,
                    static_cast<unsigned long long>(offset), static_cast<unsigned long long>(n),
                    static_cast<unsigned long long>(m.size()));
}

na_return_t move(const char* function, na_cb_type_t type, na_class_t* c, na_context_t* context, na_cb_t callback,
                 void* arg, place local, place remote, na_size_t n, na_addr_t remote_addr, na_op_id_t* op_id) {
  if (const na_return_t bad = check(function, c, context)) return bad;
  memory *here = nullptr, *there = nullptr;
  if (const na_return_t bad = check_memory(function, "local_mem_handle", local.handle, &here)) return bad;
  if (const na_return_t bad = check_memory(function, "remote_mem_handle", remote.handle, &there)) return bad;
  if (here->remote()) return na::refuse(NA_INVALID_PARAM, function, "local_mem_handle is of another process's memory");
  if (const na_return_t bad = check_range(function, "local", *here, local.offset, n)) return bad;
  if (const na_return_t bad = check_range(function, "remote", *there, remote.offset, n)) return bad;
  if (type == NA_CB_PUT && there->read_only())
    return na::refuse(NA_PERMISSION_ERROR, function, "the remote memory is NA_MEM_READ_ONLY");
  addr to;
  if (const na_return_t bad = check(function, c, remote_addr, &to)) return bad;
  // Prints nothing, since both may come from a peer.
  if (there->remote() && there->owner() != c->book->mark(to.rank)) return NA_PROTOCOL_ERROR;
  if (!there->remote() && to.rank != 0)
    return na::refuse(NA_INVALID_PARAM, function, "remote_mem_handle is of this process, remote_addr is not");
  if (!there->remote() && !there->registered())
    return na::refuse(NA_PERMISSION_ERROR, function,
                      "the remote memory is not registered: call NA_Mem_register() first");
  return na::guarded(function, [&] {
    operation* const op = c->begin(context, type, callback, arg);
    na::tell(op_id, na::operation_pool::id_of(*op));
    try {
      op->peer = to;
      op->size = n;
      op->moved = c->operations.take_transfer();
      memory::plan(*here, local.offset, *there, remote.offset, n, op->moved.get());
      if (n == 0)
        c->finish(op, lci::errorcode_t::done);
      else
        c->start(op);
    } catch (...) {
      c->operations.give_back(op);
      throw;
    }
    return NA_SUCCESS;
  });
}

}  // namespace

na_return_t NA_Put(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                   na_mem_handle_t local_mem_handle, na_offset_t local_offset, na_mem_handle_t remote_mem_handle,
                   na_offset_t remote_offset, na_size_t data_size, na_addr_t remote_addr, na_op_id_t* op_id) {
  return move("NA_Put", NA_CB_PUT, na_class, context, callback, arg, {local_mem_handle, local_offset},
              {remote_mem_handle, remote_offset}, data_size, remote_addr, op_id);
}

na_return_t NA_Get(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                   na_mem_handle_t local_mem_handle, na_offset_t local_offset, na_mem_handle_t remote_mem_handle,
                   na_offset_t remote_offset, na_size_t data_size, na_addr_t remote_addr, na_op_id_t* op_id) {
  return move("NA_Get", NA_CB_GET, na_class, context, callback, arg, {local_mem_handle, local_offset},
              {remote_mem_handle, remote_offset}, data_size, remote_addr, op_id);
}
