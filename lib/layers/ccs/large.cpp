// Large active messages. The message itself is short. The target's header handler selects memory for the data; then the
// sender sends the data.
#include <cstdarg>
#include <cstring>
#include <utility>

#include "lib/layers/ccs/messages.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/services.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

void answer(process& p, int node, const wire::large_answer& a) { p.send(p.bulk, node, wire::kind::large_answer, a); }

/// Prepares to receive the data of a large message into the memory that its header handler has selected.
void accept(process& p, const large_message& m, const large_target& target) {
  const char* const me = "a handler of large messages";
  layout to(me, "dest_", target.dest, target.count, target.desc);
  if (!to.valid() || to.size() != m.size)
    fail(me, "handler %u of context %u gives memory for %zu bytes, but the message of node %d has %llu", m.handler,
         m.context, to.size(), m.source, static_cast<unsigned long long>(m.size));
  auto op = std::make_unique<operation>(p, m.source, me, target.done, target.done_arg);
  op->counts = false;
  p.receiving.fetch_add(1, std::memory_order_relaxed);
  op->local = std::move(to);
  if (m.size == 0) {
    answer(p, m.source, {m.operation, 0, 0});
    return complete(std::move(op));
  }
  const uint64_t receiver = p.operations.add(op.release());
  answer(p, m.source, {m.operation, receiver, 0});
}

void offer(process& p, large_message m) {
  const handler* const h = p.handlers.find(m.context, m.handler);
  CCS_token token{static_cast<CCS_node_t>(m.source), m.context, false, h->data};
  large_target target;
  int result = CCS_FAILURE;
  {
    const running_mark mark;
    tls.token = &token;
    result = call_large_handler(*h, &token, m.size, target, static_cast<unsigned>(m.args.size()), m.args.data());
    tls.token = nullptr;
    if (tls.busy != 1)
      fail("a handler",
           "handler %u of context %u has returned with a lock held or in a no-interrupt section: end both "
           "where they begin",
           m.handler, m.context);
  }
  switch (result) {
    case CCS_SUCCESS:
      return accept(p, m, target);
    case CCS_AGAIN:
      return p.delayed.add(std::move(m));
    case CCS_FAILURE:
      return answer(p, m.source, {m.operation, 0, 1});
    default:
      fail("a handler of large messages",
           "handler %u of context %u has returned %d: must be CCS_SUCCESS, CCS_AGAIN or "
           "CCS_FAILURE",
           m.handler, m.context, result);
  }
}

}  // namespace

void handle_large(process& p, int source, const wire::address& to, const std::byte* data, size_t size) {
  wire::large_head head;
  const size_t n = to.num_args * sizeof(CCS_handler_arg_t);
  if (!wire::take(data, size, head) || size != n || to.num_args > CCS_MAX_HANDLER_ARGS)
    fail("a handler", "node %d has sent a message that is damaged", source);
  large_message m{source, to.context, to.handler, head.operation, head.size, {}};
  m.args.resize(to.num_args);
  if (n > 0) std::memcpy(m.args.data(), data, n);
  offer(p, std::move(m));
}

void call_delayed(process& p) {
  for (large_message& m : p.delayed.take()) offer(p, std::move(m));
}

bool send_large(process& p, int node, const wire::large_answer& a) {
  std::unique_ptr<operation> op(p.operations.take(a.operation));
  if (op == nullptr) return false;
  if (a.refused != 0 || op->local.size() == 0) {
    complete(std::move(op), a.refused != 0 ? CCS_FAILURE : CCS_SUCCESS);
    return true;
  }
  layout from = std::move(op->local);
  auto s = std::make_unique<sending>(p, node, std::move(from), wire::reply_head{a.receiver, 0});
  s->at_end = std::move(op);
  p.sendings.add(std::move(s));
  return true;
}

}  // namespace ccs

using namespace ccs;

int CCS_amlarge(CCS_context_t context, CCS_node_t node, void* buf, size_t count, CCS_datadesc_t datadesc,
                unsigned handler_id, CCS_callback_t local_done, void* local_arg, unsigned num_args, ...) {
  constexpr const char* me = "CCS_amlarge";
  CCS_handler_arg_t args[CCS_MAX_HANDLER_ARGS];
  if (!are_possible(me, handler_id, num_args)) return CCS_FAILURE;
  va_list list;
  va_start(list, num_args);
  take_arguments(args, num_args, list);
  va_end(list);
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_context(*p, me, context) || !is_node(*p, me, node)) return +CCS_FAILURE;
    layout data(me, "", buf, count, datadesc);
    if (!data.valid()) return +CCS_FAILURE;
    const size_t n = num_args * sizeof *args;
    wire::large_head head{0, data.size()};
    auto op = std::make_unique<operation>(*p, static_cast<int>(node), me, local_done, local_arg);
    op->local = std::move(data);
    p->peers[node].outstanding.fetch_add(1, std::memory_order_relaxed);
    head.operation = p->operations.add(op.release());
    std::byte body[sizeof head + sizeof args];
    std::memcpy(body, &head, sizeof head);
    if (n > 0) std::memcpy(body + sizeof head, args, n);
    thread_counts::add_one(p->counts().sent);
    (void)lci::post_am_x(static_cast<int>(node), body, sizeof head + n, lci::COMP_NULL, p->to_handlers)
        .device(p->device)
        .stream(p->ordered)
        .tag(wire::pack({wire::purpose::large, context, handler_id, num_args}))();
    return +CCS_SUCCESS;
  });
}

int CCS_callback_status(void) { return tls.callback_status; }
