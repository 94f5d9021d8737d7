// The functions of messages. Expected messages are sends and receives of the core; unexpected ones are in
// unexpected_messages.hpp.
#include "lib/layers/na/arguments.hpp"

using na::addr;
using na::check;
using na::operation;

namespace {

na_return_t check_message(const char* function, const void* buf, na_size_t size) {
  if (buf == nullptr && size != 0) return na::refuse(NA_INVALID_PARAM, function, "buf is NULL");
  if (size > na::max_message)
    return na::refuse(NA_SIZE_ERROR, function, "buf_size is %llu, at most %llu bytes fit into a message",
                      static_cast<unsigned long long>(size), static_cast<unsigned long long>(na::max_message));
  return NA_SUCCESS;
}

na_return_t send(const char* function, na_cb_type_t type, na_class_t* c, na_context_t* context, na_cb_t callback,
                 void* arg, const void* buf, na_size_t size, na_addr_t dest, na_tag_t tag, na_op_id_t* op_id) {
  if (const na_return_t bad = check(function, c, context)) return bad;
  if (const na_return_t bad = check_message(function, buf, size)) return bad;
  addr to;
  if (const na_return_t bad = check(function, c, dest, &to)) return bad;
  return na::guarded(function, [&] {
    operation* const op = c->begin(context, type, callback, arg);
    op->peer = to;
    op->buffer = const_cast<void*>(buf);
    op->size = size;
    op->tag = tag;
    na::tell(op_id, na::operation_pool::id_of(*op));
    try {
      c->start(op);
    } catch (...) {
      c->operations.give_back(op);
      throw;
    }
    return NA_SUCCESS;
  });
}

na_return_t receive(const char* function, na_cb_type_t type, na_class_t* c, na_context_t* context, na_cb_t callback,
                    void* arg, void* buf, na_size_t size, addr source, na_tag_t tag, na_op_id_t* op_id) {
  if (buf == nullptr && size != 0) return na::refuse(NA_INVALID_PARAM, function, "buf is NULL");
  return na::guarded(function, [&] {
    operation* const op = c->begin(context, type, callback, arg);
    na::tell(op_id, na::operation_pool::id_of(*op));
    op->found = NA_ADDR_NULL;
    if (type == NA_CB_RECV_UNEXPECTED) {
      op->buffer = buf;
      op->size = size;
      c->unexpected.receive(op);
      return NA_SUCCESS;
    }
    op->one_is_done.store(false, std::memory_order_relaxed);
    lci::operation_t name;
    try {
      lci::status_t status;
      do {
        status = c->with_peer(source, [&] {
          return lci::post_recv_x(static_cast<int>(source.rank), buf, size, lci::tag_t{tag}, context->comp())
              .device(c->device)
              .allow_done(false)
              .user_context(op)
              .operation(&name)();
        });
        if (status.is_retry()) c->progress();
      } while (status.is_retry());
    } catch (...) {
      c->operations.give_back(op);
      throw;
    }
    c->posted(op, name);
    return NA_SUCCESS;
  });
}

}  // namespace

na_size_t NA_Msg_get_max_expected_size(na_class_t* na_class) {
  return check("NA_Msg_get_max_expected_size", na_class) == NA_SUCCESS ? na::max_message : 0;
}

na_size_t NA_Msg_get_max_unexpected_size(na_class_t* na_class) {
  return check("NA_Msg_get_max_unexpected_size", na_class) == NA_SUCCESS ? na::max_message : 0;
}

na_tag_t NA_Msg_get_max_tag(na_class_t* na_class) {
  return check("NA_Msg_get_max_tag", na_class) == NA_SUCCESS ? NA_TAG_UB : 0;
}

na_return_t NA_Msg_send_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                   const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag,
                                   na_op_id_t* op_id) {
  return send("NA_Msg_send_unexpected", NA_CB_SEND_UNEXPECTED, na_class, context, callback, arg, buf, buf_size, dest,
              tag, op_id);
}

na_return_t NA_Msg_recv_unexpected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg, void* buf,
                                   na_size_t buf_size, na_op_id_t* op_id) {
  constexpr const char* function = "NA_Msg_recv_unexpected";
  if (const na_return_t bad = check(function, na_class, context)) return bad;
  return receive(function, NA_CB_RECV_UNEXPECTED, na_class, context, callback, arg, buf, buf_size, {}, 0, op_id);
}

na_return_t NA_Msg_send_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg,
                                 const void* buf, na_size_t buf_size, na_addr_t dest, na_tag_t tag, na_op_id_t* op_id) {
  return send("NA_Msg_send_expected", NA_CB_SEND_EXPECTED, na_class, context, callback, arg, buf, buf_size, dest, tag,
              op_id);
}

na_return_t NA_Msg_recv_expected(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg, void* buf,
                                 na_size_t buf_size, na_addr_t source, na_tag_t tag, na_op_id_t* op_id) {
  constexpr const char* function = "NA_Msg_recv_expected";
  if (const na_return_t bad = check(function, na_class, context)) return bad;
  addr from;
  if (const na_return_t bad = na::check_last(function, na_class, source, &from)) return bad;
  return receive(function, NA_CB_RECV_EXPECTED, na_class, context, callback, arg, buf, buf_size, from, tag, op_id);
}
