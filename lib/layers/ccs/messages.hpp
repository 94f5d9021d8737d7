// Sends and handles active messages of the program.
#pragma once

#include <ccs.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/cpu.hpp"

#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

/// The arguments of a message, which has taken them from a variadic function, and room for data behind them. On the
/// stack of the thread that sends the message.
struct short_body {
  /// Bytes. Messages up to this size are assembled here, from which the network copies them; larger ones in a packet.
  static constexpr size_t size = 512;
  static constexpr size_t n_words = size / sizeof(CCS_handler_arg_t);
  static_assert(CCS_MAX_HANDLER_ARGS <= n_words);

  /// Takes no arguments if there are too many, see are_possible(). They are integers and pointers, each of which
  /// occupies a word. Inline, so that the compiler knows where the list begins, and that no function refers to it
  /// afterwards.
  LCI_ALWAYS_INLINE inline void take_arguments(unsigned n, va_list list) {
    if (LCI_UNLIKELY(n > CCS_MAX_HANDLER_ARGS)) return;
    for (unsigned i = 0; i < n; ++i) words[i] = va_arg(list, CCS_handler_arg_t);
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words); }

  alignas(16) CCS_handler_arg_t words[n_words];
};

// These print a line and return false for misuse.
bool are_possible(const char* function, unsigned handler_id, unsigned num_args);
bool is_context(const process& p, const char* function, CCS_context_t context);

/// What the program's message contains beside its arguments.
struct message_data {
  void* buf;
  unsigned count;
  CCS_datadesc_t datadesc;
};
/// Packs and sends a message. Its arguments are in `body`.
[[gnu::noinline]] int send_message(process& p, const char* function, wire::address to, CCS_node_t node,
                                   const message_data& data, short_body& body);

/// Sends a message of contiguous data if the core takes it at once. Otherwise returns false, and has had no effect but
/// on `body` behind the arguments; send_message() then checks all arguments.
LCI_ALWAYS_INLINE inline bool send_at_once(process& p, wire::address to, CCS_node_t node, const message_data& data,
                                           short_body& body);

/// The size of contiguous data; more than CCS_MAX_AM_LENGTH for other data, and for misuse.
inline size_t size_if_contiguous(const message_data& data) {
  constexpr size_t no = CCS_MAX_AM_LENGTH + 1;
  // The value of a builtin description is its size, except for three that are larger. It is a power of two or 0.
  const auto each = static_cast<uint64_t>(data.datadesc);
  if (LCI_UNLIKELY(each > static_cast<uint64_t>(CCS_DATA128) || (each & (each - 1)) != 0)) return no;
  const uint64_t size = data.count * each;
  return LCI_LIKELY(data.buf != nullptr || size == 0) ? size : no;
}

/// Bytes of data that a message of a short_body may have beside any number of arguments.
constexpr size_t most_short_data = short_body::size - CCS_MAX_HANDLER_ARGS * sizeof(CCS_handler_arg_t);

/// The bytes of a message.
struct message_bytes {
  const void* begin = nullptr;  ///< null: more than most_short_data bytes of data and arguments
  size_t size = 0;
};
/// A message of `size` bytes of contiguous data, in `body` unless it has no arguments.
LCI_ALWAYS_INLINE inline message_bytes assemble(unsigned num_args, const message_data& data, size_t size,
                                                short_body& body) {
  if (LCI_LIKELY(size == 0)) return {body.words, wire::size_of_arguments(num_args, false)};
  if (num_args == 0) return {data.buf, size};
  if (LCI_UNLIKELY(size > most_short_data)) return {};
  const size_t front = wire::size_of_arguments(num_args, true);
  std::memcpy(body.bytes() + front, data.buf, size);
  return {body.words, front + size};
}

bool send_at_once(process& p, wire::address to, CCS_node_t node, const message_data& data, short_body& body) {
  if (LCI_UNLIKELY(to.context >= p.handlers.n_contexts() || node >= static_cast<CCS_node_t>(p.size) ||
                   to.handler >= CCS_MAX_HANDLERS || to.num_args > CCS_MAX_HANDLER_ARGS ||
                   tls.generation != p.generation))
    return false;
  const size_t size = size_if_contiguous(data);
  if (LCI_UNLIKELY(size > CCS_MAX_AM_LENGTH)) return false;
  const message_bytes message = assemble(to.num_args, data, size, body);
  if (LCI_UNLIKELY(message.begin == nullptr)) return false;
  if (p.to_handlers == 0 || p.device.p_impl == nullptr || p.ordered.p_impl == nullptr) __builtin_unreachable();
  lci::post_am_args a;
  a.rank = static_cast<int>(node);
  a.local_buffer = message.begin;
  a.size = message.size;
  a.remote_comp = p.to_handlers;
  a.device = p.device;
  a.stream = p.ordered;
  a.tag = wire::pack(to);
  lci::status_t unused;
  sent_mark mark(*tls.counts);
  if (LCI_UNLIKELY(!lci::detail::direct_am(a, unused))) return false;
  mark.keep();
  return true;
}

// large.cpp

/// Offers a large message, which has arrived in its turn, to its header handler.
void handle_large(process& p, int source, wire::address to, const std::byte* data, size_t size) noexcept;
/// Offers those again that were delayed.
void call_delayed(process& p) noexcept;

}  // namespace ccs
