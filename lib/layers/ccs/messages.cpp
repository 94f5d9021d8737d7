// Sends and handles active messages of the program.
#include <cstdarg>
#include <cstring>

#include "lib/layers/ccs/messages.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

void must_be_able_to_wait(const char* function) noexcept {
  if (LCI_LIKELY(tls.busy == 0)) return;
  if (tls.running > 0)
    fail(function,
         "called in a handler or callback, where nothing can be waited for: send a message instead, and wait "
         "outside");
  if (tls.locks > 0)
    fail(function, "called with a lock held, which a handler may be waiting for: call CCS_unlock() first");
  fail(function, "called in a no-interrupt section, where no handler can run: call CCS_nointerrupt_end() first");
}

namespace {

/// Posts a message that fits in a packet. In a thread that must not make progress, `retry` is not allowed, so the core
/// queues a message that the network refuses.
LCI_ALWAYS_INLINE inline void post(process& p, int node, lci::tag_t tag, const void* body, size_t size) {
  for (;;) {
    const lci::status_t s =
        lci::post_am_x(node, body, size, tls.busy > 0 ? lci::COMP_NULL : lci::COMP_NULL_RETRY, p.to_handlers)
            .device(p.device)
            .stream(p.ordered)
            .tag(tag)();
    if (LCI_LIKELY(!s.is_retry())) return;
    p.poll();
  }
}

/// A message to be sent. `front`: bytes of the arguments, with padding; `size`: bytes of arguments and data.
struct outgoing {
  process& p;
  int node;
  lci::tag_t tag;
  short_body& body;  // has the arguments
  unsigned n;
  const layout& data;
  size_t front, size;

  void assemble(std::byte* to) const {
    if (n > 0 && to != body.bytes()) std::memcpy(to, body.words, front);
    if (data.is_contiguous()) {
      if (data.size() > 0) std::memcpy(to + front, reinterpret_cast<const void*>(data.begin()), data.size());
    } else {
      pack(data.whole(), reinterpret_cast<const void*>(data.base()), 0, data.size(), to + front);
    }
  }
  void post(const void* message) const { ccs::post(p, node, tag, message, size); }
};

void send(const outgoing& m) {
  if (m.size <= short_body::size) {
    m.assemble(m.body.bytes());
    return m.post(m.body.words);
  }
  if (m.n == 0 && m.data.is_contiguous()) return m.post(reinterpret_cast<const void*>(m.data.begin()));
  if (void* packet = lci::get_upacket_x().runtime(m.p.runtime).packet_pool(m.p.pool)()) {
    m.assemble(static_cast<std::byte*>(packet));
    try {
      return m.post(packet);
    } catch (...) {
      lci::put_upacket_x(packet).runtime(m.p.runtime)();
      throw;
    }
  }
  auto body = std::make_unique<std::byte[]>(m.size);
  m.assemble(body.get());
  m.post(body.get());
}

}  // namespace

bool are_possible(const char* function, unsigned handler_id, unsigned num_args) {
  if (LCI_UNLIKELY(handler_id >= CCS_MAX_HANDLERS)) {
    (void)refuse(function, "handler_id = %u, but must be less than %d", handler_id, CCS_MAX_HANDLERS);
    return false;
  }
  if (LCI_UNLIKELY(num_args > CCS_MAX_HANDLER_ARGS)) {
    (void)refuse(function, "num_args = %u, but a message has at most %d arguments", num_args, CCS_MAX_HANDLER_ARGS);
    return false;
  }
  return true;
}

bool is_context(const process& p, const char* function, CCS_context_t context) {
  if (LCI_LIKELY(context < p.handlers.n_contexts())) return true;
  (void)refuse(function, "context = %u, but CCS_new_context() has made %u so far", context, p.handlers.n_contexts());
  return false;
}

int send_message(process& p, const char* function, wire::address to, CCS_node_t node, const message_data& data,
                 short_body& body) {
  if (!is_context(p, function, to.context) || !is_node(p, function, node) ||
      !are_possible(function, to.handler, to.num_args))
    return CCS_FAILURE;
  const size_t size = size_if_contiguous(data);
  if (LCI_LIKELY(size <= CCS_MAX_AM_LENGTH)) {
    const message_bytes message = assemble(to.num_args, data, size, body);
    if (LCI_LIKELY(message.begin != nullptr)) {
      (void)p.counts();
      sent_mark mark;
      post(p, static_cast<int>(node), wire::pack(to), message.begin, message.size);
      mark.keep();
      return CCS_SUCCESS;
    }
  }
  const layout where(function, only_side, data.buf, data.count, data.datadesc);
  if (!where.valid()) return CCS_FAILURE;
  if (where.size() > CCS_MAX_AM_LENGTH)
    return refuse(function, "%zu bytes of data, but a message has at most %d: use CCS_amlarge(), or CCS_put()",
                  where.size(), CCS_MAX_AM_LENGTH);
  outgoing m{p, static_cast<int>(node), wire::pack(to), body, to.num_args, where, 0, 0};
  m.front = wire::size_of_arguments(m.n, where.size() > 0);
  m.size = m.front + where.size();
  (void)p.counts();
  sent_mark mark;
  send(m);
  mark.keep();
  return CCS_SUCCESS;
}

namespace {

const char* kind_of(wire::purpose what) { return what == wire::purpose::large ? "a large message" : "a message"; }

// The functions below get the message's tag, from which the rare ones unpack the address themselves.

[[noreturn, gnu::cold]] void fail_without_handler(int source, lci::tag_t tag) {
  const wire::address to = wire::unpack(tag);
  fail("a handler",
       "handler %u of context %u is not registered here for %s that node %d has sent: register it, by the "
       "function for its kind, before other processes can send to it",
       to.handler, to.context, kind_of(to.what), source);
}

[[noreturn, gnu::cold]] void fail_unbalanced(lci::tag_t tag) {
  const wire::address to = wire::unpack(tag);
  fail("a handler",
       "handler %u of context %u has returned with a lock held or in a no-interrupt section: end both "
       "where they begin",
       to.handler, to.context);
}

/// To be called while the exception is being handled.
[[noreturn, gnu::cold, gnu::noinline]] void fail_by_throwing(lci::tag_t tag) {
  const wire::address to = wire::unpack(tag);
  fail("a handler", "handler %u of context %u has thrown an exception, which no caller can catch: %s", to.handler,
       to.context, text_of_exception());
}

/// Calls the handler of a message with the words at `args`.
LCI_ALWAYS_INLINE inline void run(int source, lci::tag_t tag, const handler& h, caller call, const std::byte* args,
                                  std::byte* buffer, unsigned length) {
  CCS_token token{static_cast<CCS_node_t>(source), tag, h.data};
  tls.busy = tls.running = 1;  // as running_mark, but an exception ends the job
  tls.token = &token;
  try {
    call(h.function, &token, buffer, length, args);
  } catch (...) {
    fail_by_throwing(token.tag);
  }
  tls.token = nullptr;
  if (LCI_UNLIKELY(tls.busy != 1)) fail_unbalanced(token.tag);
  tls.busy = tls.running = 0;
}

[[noreturn, gnu::cold]] void fail_damaged(int source) {
  fail("a handler", "node %d has sent a message that is damaged", source);
}

/// The same for data that is not aligned: the handler gets a copy.
[[gnu::noinline]] void run_with_copy(int source, lci::tag_t tag, const handler& h, caller call, const std::byte* args,
                                     const std::byte* buffer, unsigned length) {
  alignas(16) std::byte aligned[CCS_MAX_AM_LENGTH];
  if (length > sizeof aligned) fail_damaged(source);
  std::memcpy(aligned, buffer, length);
  run(source, tag, h, call, args, aligned, length);
}

/// Says why no function was found for a message.
[[noreturn, gnu::cold, gnu::noinline]] void fail_without_caller(int source, lci::tag_t tag, const handler* h) {
  if (h == nullptr || h->style == handler_style::large) fail_without_handler(source, tag);
  const wire::address to = wire::unpack(tag);
  if (to.num_args > CCS_MAX_HANDLER_ARGS) fail_damaged(source);
  fail("a handler", "handler %u of context %u has %d arguments, but node %d has sent it %u", to.handler, to.context,
       h->num_args, source, to.num_args);
}

/// Runs the program's handler of a short message. Returns false if it is none, or if no handler for it was found.
LCI_ALWAYS_INLINE inline bool handle_short(process& p, int source, lci::tag_t tag, std::byte* data, size_t size) {
  if (LCI_UNLIKELY(!wire::is_short(tag))) return false;
  const wire::address to = wire::unpack(tag);
  const handler* const h = p.handlers.find(to.context, to.handler);
  if (LCI_UNLIKELY(h == nullptr)) return false;
  const unsigned num_args = to.num_args;
  const caller call = h->callers[num_args];
  if (LCI_UNLIKELY(call == nullptr)) return false;
  std::byte* buffer = nullptr;
  unsigned length = 0;
  if (const size_t n = num_args * sizeof(CCS_handler_arg_t); size != n) {
    if (LCI_UNLIKELY(size < n)) fail_damaged(source);
    const size_t front = wire::size_of_arguments(num_args, true);
    buffer = size > front ? data + front : nullptr;
    length = size > front ? static_cast<unsigned>(size - front) : 0;
    if (LCI_UNLIKELY(reinterpret_cast<uintptr_t>(buffer) % 16 != 0)) {
      run_with_copy(source, tag, *h, call, data, buffer, length);
      return true;
    }
  }
  run(source, tag, *h, call, data, buffer, length);
  return true;
}

/// Handles a large message, or fails.
[[gnu::noinline]] void handle_rare(process& p, int source, lci::tag_t tag, const std::byte* data, size_t size) {
  const wire::address to = wire::unpack(tag);
  const handler* const h = p.handlers.find(to.context, to.handler);
  if (to.what != wire::purpose::large) fail_without_caller(source, tag, h);
  if (h == nullptr || h->style != handler_style::large) fail_without_handler(source, tag);
  handle_large(p, source, to, data, size);
}

}  // namespace

void handle(process& p, int source, uint64_t tag, std::byte* data, size_t size) noexcept {
  // Call counts() before the handler, since the first call of a thread allocates memory.
  thread_counts& counts = insist("a handler", [&]() -> thread_counts& { return p.counts(); });
  if (!handle_short(p, source, tag, data, size)) handle_rare(p, source, tag, data, size);
  thread_counts::add_one(counts.handled);
}

namespace {

[[gnu::noinline]] void arrive_otherwise(process& p, int rank, lci::tag_t tag, std::byte* data, size_t size) {
  inbox& in = p.peers[static_cast<size_t>(rank)].in;
  if (tls.busy == 0 && in.is_free()) return handle(p, rank, tag, data, size);
  if (insist("a message", [&] { return in.append(tag, data, size); })) p.announce(rank);
}

}  // namespace

void arrive_for_handler(void* context, int rank, const void* data, size_t size, lci::tag_t tag) {
  process& p = *static_cast<process*>(context);
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));
  if (LCI_UNLIKELY(tls.busy != 0 || p.busy_inboxes.load(std::memory_order_acquire) != 0 ||  // A2
                   tls.generation != p.generation) ||
      LCI_UNLIKELY(!handle_short(p, rank, tag, bytes, size)))
    return arrive_otherwise(p, rank, tag, bytes, size);
  thread_counts::add_one(tls.counts->handled);
}

}  // namespace ccs
