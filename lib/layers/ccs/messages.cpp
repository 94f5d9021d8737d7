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

/// Bytes. Messages up to this size are assembled on the stack, from which the network copies them; larger ones are
/// assembled in a packet.
constexpr size_t small = 512;

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
  const CCS_handler_arg_t* args;
  unsigned n;
  const layout& data;
  size_t front, size;

  void assemble(std::byte* to) const {
    if (n > 0) std::memcpy(to, args, n * sizeof *args);
    if (data.is_contiguous()) {
      if (data.size() > 0) std::memcpy(to + front, reinterpret_cast<const void*>(data.begin()), data.size());
    } else {
      pack(data.whole(), reinterpret_cast<const void*>(data.base()), 0, data.size(), to + front);
    }
  }
  void post(const void* body) const { ccs::post(p, node, tag, body, size); }
};

void send(const outgoing& m) {
  if (m.size <= small) {
    alignas(16) std::byte body[small];
    m.assemble(body);
    return m.post(body);
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

/// The general case: any size and description.
[[gnu::noinline]] int send_any(process& p, const char* function, const wire::address& to, int node, const void* buf,
                               unsigned count, CCS_datadesc_t datadesc, va_list list) {
  CCS_handler_arg_t args[CCS_MAX_HANDLER_ARGS];
  take_arguments(args, to.num_args, list);
  const layout data(function, "", buf, count, datadesc);
  if (!data.valid()) return CCS_FAILURE;
  if (data.size() > CCS_MAX_AM_LENGTH)
    return refuse(function, "%zu bytes of data, but a message has at most %d: use CCS_amlarge(), or CCS_put()",
                  data.size(), CCS_MAX_AM_LENGTH);
  outgoing m{p, node, wire::pack(to), args, to.num_args, data, 0, 0};
  m.front = wire::size_of_arguments(m.n, data.size() > 0);
  m.size = m.front + data.size();
  sent_mark mark(p.counts());
  send(m);
  mark.keep();
  return CCS_SUCCESS;
}

/// Bytes of data that send_contiguous() sends with arguments: with all arguments they fit into `small`.
constexpr size_t small_data = small - CCS_MAX_HANDLER_ARGS * sizeof(CCS_handler_arg_t);

/// The size of contiguous data; more than CCS_MAX_AM_LENGTH for what send_any() must handle.
size_t size_if_contiguous(const void* buf, unsigned count, CCS_datadesc_t datadesc) {
  constexpr size_t no = CCS_MAX_AM_LENGTH + 1;
  // The value of a builtin description is its size, except for three that are larger. It is a power of two or 0.
  const auto each = static_cast<uint64_t>(datadesc);
  if (LCI_UNLIKELY(each > static_cast<uint64_t>(CCS_DATA128) || (each & (each - 1)) != 0)) return no;
  const uint64_t size = count * each;
  return LCI_LIKELY(buf != nullptr || size == 0) ? size : no;
}

/// Sends a message of contiguous data: at most `small_data` bytes if there are arguments, which go from the list into the
/// message.
LCI_ALWAYS_INLINE inline int send_contiguous(process& p, const wire::address& to, int node, const void* buf,
                                             size_t size, va_list list) {
  alignas(16) std::byte body[small];
  const void* message = body;
  if (to.num_args == 0 && size > 0) {
    message = buf;
  } else {
    for (unsigned i = 0; i < to.num_args; ++i) {
      const CCS_handler_arg_t word = va_arg(list, CCS_handler_arg_t);
      std::memcpy(body + i * sizeof word, &word, sizeof word);
    }
    const size_t front = wire::size_of_arguments(to.num_args, size > 0);
    if (size > 0) std::memcpy(body + front, buf, size);
    size += front;
  }
  sent_mark mark(p.counts());
  post(p, node, wire::pack(to), message, size);
  mark.keep();
  return CCS_SUCCESS;
}

}  // namespace

void take_arguments(CCS_handler_arg_t* args, unsigned n, va_list list) {
  for (unsigned i = 0; i < n; ++i) args[i] = va_arg(list, CCS_handler_arg_t);
}

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

int send_message(process& p, const char* function, wire::address to, int node, void* buf, unsigned count,
                 CCS_datadesc_t datadesc, va_list list) {
  if (!are_possible(function, to.handler, to.num_args)) return CCS_FAILURE;
  const size_t size = size_if_contiguous(buf, count, datadesc);
  const size_t most = to.num_args == 0 ? CCS_MAX_AM_LENGTH : small_data;
  return LCI_LIKELY(size <= most) ? send_contiguous(p, to, node, buf, size, list)
                                  : send_any(p, function, to, node, buf, count, datadesc, list);
}

namespace {

const char* kind_of(wire::purpose what) { return what == wire::purpose::large ? "a large message" : "a message"; }

[[noreturn]] void fail_without_handler(int source, const wire::address& to) {
  fail("a handler",
       "handler %u of context %u is not registered here for %s that node %d has sent: register it, by the "
       "function for its kind, before other processes can send to it",
       to.handler, to.context, kind_of(to.what), source);
}

/// Calls the handler of a message, whose arguments begin at `args`.
LCI_ALWAYS_INLINE inline void run(int source, const wire::address& to, const handler& h, const std::byte* args,
                                  std::byte* buffer, unsigned length) {
  CCS_token token{static_cast<CCS_node_t>(source), to.context, to.what == wire::purpose::request, h.data};
  const running_mark mark;
  tls.token = &token;
  or_fail("a handler", [&] { call_handler(h, &token, buffer, length, to.num_args, args); });
  tls.token = nullptr;
  if (LCI_UNLIKELY(tls.busy != 1))
    fail("a handler",
         "handler %u of context %u has returned with a lock held or in a no-interrupt section: end both "
         "where they begin",
         to.handler, to.context);
}

[[noreturn, gnu::cold]] void fail_damaged(int source) {
  fail("a handler", "node %d has sent a message that is damaged", source);
}

/// The same for data that is not aligned: the handler gets a copy.
[[gnu::noinline]] void run_with_copy(int source, const wire::address& to, const handler& h, const std::byte* args,
                                     const std::byte* buffer, unsigned length) {
  alignas(16) std::byte aligned[CCS_MAX_AM_LENGTH];
  if (length > sizeof aligned) fail_damaged(source);
  std::memcpy(aligned, buffer, length);
  run(source, to, h, args, aligned, length);
}

LCI_ALWAYS_INLINE inline void handle_message(int source, const wire::address& to, const handler& h, std::byte* data,
                                             size_t size) {
  const size_t n = to.num_args * sizeof(CCS_handler_arg_t);
  if (LCI_UNLIKELY(size < n || to.num_args > CCS_MAX_HANDLER_ARGS)) fail_damaged(source);
  if (LCI_UNLIKELY(h.num_args >= 0 && static_cast<unsigned>(h.num_args) != to.num_args))
    fail("a handler", "handler %u of context %u has %d arguments, but node %d has sent it %u", to.handler, to.context,
         h.num_args, source, to.num_args);
  const size_t front = wire::size_of_arguments(to.num_args, size > n);
  if (size <= front) return run(source, to, h, data, nullptr, 0);
  std::byte* const buffer = data + front;
  const auto length = static_cast<unsigned>(size - front);
  if (LCI_UNLIKELY(reinterpret_cast<uintptr_t>(buffer) % 16 != 0))
    return run_with_copy(source, to, h, data, buffer, length);
  run(source, to, h, data, buffer, length);
}

}  // namespace

void handle(process& p, int source, uint64_t tag, std::byte* data, size_t size) noexcept {
  // Call counts() before the handler, since the first call of a thread allocates memory.
  thread_counts& counts = insist("a handler", [&]() -> thread_counts& { return p.counts(); });
  const wire::address to = wire::unpack(tag);
  const handler* const h = p.handlers.find(to.context, to.handler);
  if (LCI_UNLIKELY(h == nullptr || (h->style == handler_style::large) != (to.what == wire::purpose::large)))
    fail_without_handler(source, to);
  if (LCI_UNLIKELY(to.what == wire::purpose::large))
    handle_large(p, source, to, data, size);
  else
    handle_message(source, to, *h, data, size);
  thread_counts::add_one(counts.handled);
}

void handler_arrivals::signal(lci::status_t s) {
  process& p = process_;
  inbox& in = p.peers[static_cast<size_t>(s.rank)].in;
  if (LCI_LIKELY(tls.busy == 0 && in.is_free()))
    return handle(p, s.rank, s.tag, static_cast<std::byte*>(s.buffer), s.size);
  if (insist("a message", [&] { return in.append(s.tag, s.buffer, s.size); })) p.announce(s.rank);
}

}  // namespace ccs
