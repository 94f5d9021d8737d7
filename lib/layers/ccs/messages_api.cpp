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

/// Returns whether the token is that of the handler that is running in this thread. Prints a line if not.
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
  if (num_args < -1 || num_args > CCS_MAX_HANDLER_ARGS)
    return refuse("CCS_register_handler", "num_args = %d, but must be 0..%d, or -1 if it is unknown", num_args,
                  CCS_MAX_HANDLER_ARGS);
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

namespace {

/// Sends a message with data, or that the core has not taken at once.
[[gnu::noinline]] int send_otherwise(process& p, const char* function, wire::address to, CCS_node_t node,
                                     const message_data& data, const CCS_handler_arg_t* words) {
  return or_code(function, [&] {
    short_body body;
    body.take_arguments(to.num_args, words);
    const size_t size = size_if_contiguous(data);
    if (LCI_LIKELY(size <= CCS_MAX_AM_LENGTH) && LCI_LIKELY(to.num_args <= CCS_MAX_HANDLER_ARGS)) {
      const message_bytes message = assemble(to.num_args, data, size, body);
      if (LCI_LIKELY(message.begin != nullptr) && LCI_LIKELY(send_at_once(p, to, node, message))) return +CCS_SUCCESS;
    }
    return send_message(p, function, to, node, data, body);
  });
}

[[gnu::cold, gnu::noinline]] int code_of_exception(const char* function) {
  return or_code(function, []() -> int { throw; });
}

/// The arguments of a message, for send_otherwise(): see lci::keep_in_memory().
struct kept_terms {
  process* p;
  const CCS_handler_arg_t* words;
  wire::address to;
  CCS_node_t node;
  message_data data;
};

/// Sends a message. Inline, so that one without data, the most common, makes a single call.
LCI_ALWAYS_INLINE inline int send_terms(process& p, const char* function, wire::address to, CCS_node_t node, void* buf,
                                        unsigned count, CCS_datadesc_t datadesc, const CCS_handler_arg_t* words) {
  kept_terms kept{&p, words, to, node, {buf, count, datadesc}};
  lci::keep_in_memory(kept);
  if (LCI_LIKELY(size_if_contiguous({buf, count, datadesc}) == 0)) {
    try {
      if (LCI_LIKELY(send_at_once(p, to, node, {words, wire::size_of_arguments(to.num_args, false)})))
        return CCS_SUCCESS;
    } catch (...) {
      return code_of_exception(function);
    }
  }
  return send_otherwise(*kept.p, function, kept.to, kept.node, kept.data, kept.words);
}

}  // namespace

int CCS_amrequest(CCS_context_t context, CCS_node_t node, void* buf, unsigned count, CCS_datadesc_t datadesc,
                  unsigned handler_id, unsigned num_args, ...) {
  constexpr const char* me = "CCS_amrequest";
  CCS_ARGUMENTS(words, num_args);
  process* const p = current(me);
  if (LCI_UNLIKELY(p == nullptr)) return CCS_FAILURE;
  return send_terms(*p, me, {wire::purpose::request, context, handler_id, num_args}, node, buf, count, datadesc,
                    words.get());
}

int CCS_amreply(CCS_token_t token, void* buf, unsigned count, CCS_datadesc_t datadesc, unsigned handler_id,
                unsigned num_args, ...) {
  constexpr const char* me = "CCS_amreply";
  CCS_ARGUMENTS(words, num_args);
  process* const p = current(me);
  if (LCI_UNLIKELY(p == nullptr) || !is_token(me, token)) return CCS_FAILURE;
  const wire::address from = wire::unpack(token->tag);
  if (from.what != wire::purpose::request)
    return refuse(me, "called in the handler of a reply, or of a large message: only requests are replied to");
  return send_terms(*p, me, {wire::purpose::reply, from.context, handler_id, num_args}, token->source, buf, count,
                    datadesc, words.get());
}

int CCS_sender_rank(CCS_token_t token, CCS_node_t* sender) {
  constexpr const char* me = "CCS_sender_rank";
  if (!is_token(me, token)) return CCS_FAILURE;
  if (sender == nullptr) return refuse(me, "sender is NULL, but must be the address of a number");
  *sender = token->source;
  return CCS_SUCCESS;
}
