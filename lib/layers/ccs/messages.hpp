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

/// The arguments of a message, and room for data behind them. On the stack of the thread that sends the message.
struct short_body {
  /// Bytes. Messages up to this size are assembled here, from which the network copies them; larger ones in a packet.
  static constexpr size_t size = 512;
  static constexpr size_t n_words = size / sizeof(CCS_handler_arg_t);
  static_assert(CCS_MAX_HANDLER_ARGS < n_words);

  /// Takes no arguments if there are too many, see are_possible(). The word behind them may be sent as padding, so it
  /// is set: what was on the stack before is not for peers.
  LCI_ALWAYS_INLINE inline void take_arguments(unsigned n, const CCS_handler_arg_t* from) {
    if (LCI_UNLIKELY(n > CCS_MAX_HANDLER_ARGS)) return;
    for (unsigned i = 0; i < n; ++i) words[i] = from[i];
    words[n] = 0;
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words); }

  alignas(16) CCS_handler_arg_t words[n_words];
};

/// The variadic arguments of a function, as an array of words: they are integers and pointers, one word each. On x86-64
/// a caller passes the first six integer arguments in registers and the others on the stack, one word after the other.
/// So if a function has at least six named integer arguments, all its variadic ones are on the stack, and are used
/// there without a copy. Elsewhere they are copied. Valid until the function returns.
///
/// CCS_ARGUMENTS(name, n) defines `name` as the arguments behind the last named one, `n`, which says how many there
/// are. Functions that use it must have six or more named integer arguments.
#if defined(__x86_64__) && defined(__LP64__) && defined(__GNUC__) && !defined(__clang__)
class argument_words {
 public:
  explicit argument_words(const void* first) : words_(static_cast<const CCS_handler_arg_t*>(first)) {}
  const CCS_handler_arg_t* get() const { return words_; }

 private:
  const CCS_handler_arg_t* words_;
};
/// 0 instead of `n`: the result is the same. Given `n`, GCC warns that it is not the last argument wherever it works on
/// a copy of `n`, which it does without optimization and with sanitizers.
#define CCS_ARGUMENTS(name, n) const ccs::argument_words name(__builtin_next_arg(0))
#else
class argument_words {
 public:
  /// Inline, so that the compiler knows where the list begins, and that no function refers to it afterwards.
  LCI_ALWAYS_INLINE inline argument_words(unsigned n, va_list list) {
    for (unsigned i = 0; i < n && i < CCS_MAX_HANDLER_ARGS; ++i) words_[i] = va_arg(list, CCS_handler_arg_t);
  }
  const CCS_handler_arg_t* get() const { return words_; }

 private:
  CCS_handler_arg_t words_[CCS_MAX_HANDLER_ARGS];
};
#define CCS_ARGUMENTS(name, n)                       \
  va_list list_of_##name;                            \
  va_start(list_of_##name, n);                       \
  const ccs::argument_words name(n, list_of_##name); \
  va_end(list_of_##name)
#endif

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

/// Sends a message of these bytes if the core takes it at once. Otherwise returns false, and has had no effect;
/// send_message() then checks all arguments. `to` and `node` are unchecked, the size is at most CCS_MAX_AM_LENGTH and
/// the arguments'.
LCI_ALWAYS_INLINE inline bool send_at_once(process& p, wire::address to, CCS_node_t node, message_bytes message) {
  if (LCI_UNLIKELY(to.context >= p.handlers.n_contexts() || node >= static_cast<CCS_node_t>(p.size) ||
                   to.handler >= CCS_MAX_HANDLERS || to.num_args > CCS_MAX_HANDLER_ARGS ||
                   tls.generation != p.generation))
    return false;
  if (p.to_handlers == 0 || p.device.p_impl == nullptr || p.ordered.p_impl == nullptr || message.begin == nullptr)
    __builtin_unreachable();
  lci::post_am_args a;
  a.rank = static_cast<int>(node);
  a.local_buffer = message.begin;
  a.size = message.size;
  a.remote_comp = p.to_handlers;
  a.device = p.device;
  a.stream = p.ordered;
  a.tag = wire::pack(to);
  lci::status_t unused;
  sent_mark mark;
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
