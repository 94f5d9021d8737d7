// The functions of active messages.
#include <cstdarg>

#include "lib/layers/ccs/messages.hpp"
#include "lib/layers/ccs/misuse.hpp"

using namespace ccs;

namespace {

int register_as(const char* function, CCS_context_t context, unsigned handler_id, const handler& h) {
  return or_code(function, [&] {
    process* const p = current(function);
    if (p == nullptr || !is_context(*p, function, context) || !are_possible(function, handler_id, 0))
      return +CCS_FAILURE;
    if (h.function == nullptr) return refuse(function, "handler_ptr is NULL, but must be a function");
    p->handlers.set(context, handler_id, h);
    return +CCS_SUCCESS;
  });
}

/// Whether the token is that of the handler that is running in this thread. Prints a line if not.
bool is_token(const char* function, CCS_token_t token) {
  if (LCI_LIKELY(token != nullptr && token == tls.token)) return true;
  (void)refuse(function, "the token is not that of the handler that is running in this thread");
  return false;
}

}  // namespace

int CCS_register_vhandler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr) {
  return register_as("CCS_register_handler", context, handler_id,
                     {reinterpret_cast<void (*)(void)>(handler_ptr), handler_style::varargs, -1, nullptr});
}

int CCS_register_handler(CCS_context_t context, unsigned handler_id, CCS_amhandler_t handler_ptr) {
  return CCS_register_vhandler(context, handler_id, handler_ptr);
}

int CCS_register_spread_handler(CCS_context_t context, unsigned handler_id, void (*handler_ptr)(void), int num_args) {
  if (num_args > CCS_MAX_HANDLER_ARGS)
    return refuse("CCS_register_handler", "num_args = %d, but must be at most %d", num_args, CCS_MAX_HANDLER_ARGS);
  return register_as("CCS_register_handler", context, handler_id,
                     {handler_ptr, handler_style::spread, num_args, nullptr});
}

int CCS_register_large_handler(CCS_context_t context, unsigned handler_id, CCS_amlarge_handler_t handler_ptr) {
  return register_as("CCS_register_large_handler", context, handler_id,
                     {reinterpret_cast<void (*)(void)>(handler_ptr), handler_style::large, -1, nullptr});
}

int CCS_set_handler_data(CCS_context_t context, unsigned handler_id, void* data) {
  constexpr const char* me = "CCS_set_handler_data";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_context(*p, me, context) || !are_possible(me, handler_id, 0)) return +CCS_FAILURE;
    const handler* const found = p->handlers.find(context, handler_id);
    if (found == nullptr)
      return refuse(me, "handler %u of context %u is not registered: register it first", handler_id, context);
    handler with_data = *found;
    with_data.data = data;
    p->handlers.set(context, handler_id, with_data);
    return +CCS_SUCCESS;
  });
}

void* CCS_handler_data(CCS_token_t token) { return is_token("CCS_handler_data", token) ? token->data : nullptr; }

int CCS_amrequest(CCS_context_t context, CCS_node_t node, void* buf, unsigned count, CCS_datadesc_t datadesc,
                  unsigned handler_id, unsigned num_args, ...) {
  constexpr const char* me = "CCS_amrequest";
  short_body body;
  va_list list;
  va_start(list, num_args);
  body.take_arguments(num_args, list);
  va_end(list);
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr) return +CCS_FAILURE;
    const wire::address to{wire::purpose::request, context, handler_id, num_args};
    if (LCI_LIKELY(send_at_once(*p, to, node, {buf, count, datadesc}, body))) return +CCS_SUCCESS;
    return send_message(*p, me, to, node, {buf, count, datadesc}, body);
  });
}

int CCS_amreply(CCS_token_t token, void* buf, unsigned count, CCS_datadesc_t datadesc, unsigned handler_id,
                unsigned num_args, ...) {
  constexpr const char* me = "CCS_amreply";
  short_body body;
  va_list list;
  va_start(list, num_args);
  body.take_arguments(num_args, list);
  va_end(list);
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_token(me, token)) return +CCS_FAILURE;
    const wire::address from = wire::unpack(token->tag);
    if (from.what != wire::purpose::request)
      return refuse(me, "called in the handler of a reply, or of a large message: only requests are replied to");
    const wire::address to{wire::purpose::reply, from.context, handler_id, num_args};
    if (LCI_LIKELY(send_at_once(*p, to, token->source, {buf, count, datadesc}, body))) return +CCS_SUCCESS;
    return send_message(*p, me, to, token->source, {buf, count, datadesc}, body);
  });
}

int CCS_sender_rank(CCS_token_t token, CCS_node_t* sender) {
  constexpr const char* me = "CCS_sender_rank";
  if (!is_token(me, token)) return CCS_FAILURE;
  if (sender == nullptr) return refuse(me, "sender is NULL, but must be the address of a number");
  *sender = token->source;
  return CCS_SUCCESS;
}
