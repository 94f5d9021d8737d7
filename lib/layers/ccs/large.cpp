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

void answer(process& p, int node, const wire::large_answer& a) { p.answer(p.bulk, node, wire::kind::large_answer, a); }

/// Where the data of a large message goes to, as its header handler has said.
void accept(process& p, large_message& m, const large_target& target) noexcept {
  const char* const me = "a handler of large messages";
  constexpr argument_names names{"dest", "dest_count", "dest_desc"};
  layout to = insist(me, [&] { return layout(me, names, target.dest, target.count, target.desc); });
  if (!to.valid() || to.size() != m.size)
    fail(me, "handler %u of context %u gives memory for %zu bytes, but the message of node %d has %llu", m.handler,
         m.context, to.size(), m.source, static_cast<unsigned long long>(m.size));
  std::unique_ptr<operation> op = std::move(m.receiving);
  op->callback = target.done;
  op->arg = target.done_arg;
  op->local = std::move(to);
  op->count_as(operation::counted::receiving);
  if (m.size == 0) {
    answer(p, m.source, {m.operation, 0, 0});
    return complete(std::move(op));
  }
  const uint64_t receiver = insist(me, [&] { return op->give_number(); });
  (void)op.release();  // outstanding until all data has arrived
  answer(p, m.source, {m.operation, receiver, 0});
}

void offer(process& p, std::unique_ptr<large_message> m) noexcept {
  const handler* const h = p.handlers.find(m->context, m->handler);
  CCS_token token{static_cast<CCS_node_t>(m->source), wire::pack({wire::purpose::large, m->context, m->handler, 0}),
                  h->data};
  large_target target;
  int result = CCS_FAILURE;
  {
    const running_mark mark;
    tls.token = &token;
    const auto n = static_cast<unsigned>(m->args.size());
    try {
      result = call_large_handler(*h, &token, m->size, target, n, m->args.data());
    } catch (...) {
      fail("a handler of large messages",
           "handler %u of context %u has thrown an exception, which no caller can catch: %s", m->handler, m->context,
           text_of_exception());
    }
    tls.token = nullptr;
    if (tls.busy != 1)
      fail("a handler",
           "handler %u of context %u has returned with a lock held or in a no-interrupt section: end both "
           "where they begin",
           m->handler, m->context);
  }
  switch (result) {
    case CCS_SUCCESS:
      return accept(p, *m, target);
    case CCS_AGAIN:
      return p.delayed.add(std::move(m));
    case CCS_FAILURE:
      return answer(p, m->source, {m->operation, 0, 1});
    default:
      fail("a handler of large messages",
           "handler %u of context %u has returned %d: must be CCS_SUCCESS, CCS_AGAIN or "
           "CCS_FAILURE",
           m->handler, m->context, result);
  }
}

}  // namespace

void handle_large(process& p, int source, wire::address to, const std::byte* data, size_t size) noexcept {
  wire::large_head head;
  const size_t n = to.num_args * sizeof(CCS_handler_arg_t);
  if (!wire::take(data, size, head) || size != n || to.num_args > CCS_MAX_HANDLER_ARGS)
    fail("a handler", "node %d has sent a message that is damaged", source);
  const char* const me = "a handler of large messages";
  offer(p, insist(me, [&] {
          auto m = std::make_unique<large_message>();
          m->source = source;
          m->context = to.context;
          m->handler = to.handler;
          m->operation = head.operation;
          m->size = head.size;
          m->args.resize(to.num_args);
          if (n > 0) std::memcpy(m->args.data(), data, n);
          m->receiving = std::make_unique<operation>(p, source, me, nullptr, nullptr);
          return m;
        }));
}

void call_delayed(process& p) noexcept {
  chain<large_message> again;
  p.delayed.take(again);
  while (std::unique_ptr<large_message> m = again.pop()) offer(p, std::move(m));
}

bool send_large(process& p, int node, const wire::large_answer& a) {
  operation* const offered = p.operations.find(a.operation);
  if (offered == nullptr) return false;
  if (a.refused != 0 || offered->local.size() == 0) {
    complete(p.take_operation(a.operation), a.refused != 0 ? CCS_FAILURE : CCS_SUCCESS);
    return true;
  }
  auto s = std::make_unique<sending>(p, node, std::move(offered->local), wire::reply_head{a.receiver, 0});
  s->at_end = p.take_operation(a.operation);
  p.sendings.add(std::move(s));
  return true;
}

}  // namespace ccs

using namespace ccs;

int CCS_amlarge(CCS_context_t context, CCS_node_t node, void* buf, size_t count, CCS_datadesc_t datadesc,
                unsigned handler_id, CCS_callback_t local_done, void* local_arg, unsigned num_args, ...) {
  constexpr const char* me = "CCS_amlarge";
  short_body args;
  if (!are_possible(me, handler_id, num_args)) return CCS_FAILURE;
  CCS_ARGUMENTS(words, num_args);
  args.take_arguments(num_args, words.get());
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_context(*p, me, context) || !is_node(*p, me, node)) return +CCS_FAILURE;
    layout data(me, only_side, buf, count, datadesc);
    if (!data.valid()) return +CCS_FAILURE;
    const size_t n = num_args * sizeof *args.words;
    wire::large_head head{0, data.size()};
    auto op = std::make_unique<operation>(*p, static_cast<int>(node), me, local_done, local_arg);
    op->local = std::move(data);
    op->count_as(operation::counted::outstanding);
    head.operation = op->give_number();
    std::byte body[sizeof head + CCS_MAX_HANDLER_ARGS * sizeof *args.words];
    std::memcpy(body, &head, sizeof head);
    if (n > 0) std::memcpy(body + sizeof head, args.words, n);
    (void)p->counts();
    sent_mark mark;
    (void)lci::post_am_x(static_cast<int>(node), body, sizeof head + n, lci::COMP_NULL, p->to_handlers)
        .device(p->device)
        .stream(p->ordered)
        .tag(wire::pack({wire::purpose::large, context, handler_id, num_args}))();
    mark.keep();
    (void)op.release();  // outstanding until the target answers
    return +CCS_SUCCESS;
  });
}

int CCS_callback_status(void) { return tls.callback_status; }
