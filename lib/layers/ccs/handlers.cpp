#include "lib/layers/ccs/handlers.hpp"

#include <cstring>
#include <utility>

namespace ccs {

bool handler_table::add_context(CCS_context_t& number) {
  auto made = std::make_unique<context>();
  std::lock_guard guard(lock_);
  const unsigned n = n_.load(std::memory_order_relaxed);
  if (n == CCS_MAX_CONTEXTS) return false;
  owned_.reserve(n + 1);
  contexts_[n].store(made.get(), std::memory_order_release);  // R2
  owned_.push_back(std::move(made));
  n_.store(n + 1, std::memory_order_release);
  number = n;
  return true;
}

namespace {

// One instantiation for each number of arguments, since C++ can't build an argument list at run time. All arguments of
// handlers are integers or pointers. By the calling convention each takes a word in a register or on the stack, of
// which a smaller parameter uses the lower part.

template <size_t I>
using word = CCS_handler_arg_t;

CCS_handler_arg_t word_at(const std::byte* args, size_t i) {
  CCS_handler_arg_t w;
  std::memcpy(&w, args + i * sizeof w, sizeof w);
  return w;
}

template <size_t... I>
void call_spread(void (*f)(void), CCS_token_t token, void* buffer, unsigned size,
                 [[maybe_unused]] const std::byte* args, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(CCS_token_t, void*, unsigned, word<I>...)>(f)(token, buffer, size, word_at(args, I)...);
}

template <size_t... I>
void call_varargs(void (*f)(void), CCS_token_t token, void* buffer, unsigned size,
                  [[maybe_unused]] const std::byte* args, std::index_sequence<I...>) {
  reinterpret_cast<CCS_amhandler_t>(f)(token, buffer, size, unsigned{sizeof...(I)}, word_at(args, I)...);
}

template <size_t... I>
int call_large(void (*f)(void), CCS_token_t token, size_t len, large_target& t, const CCS_handler_arg_t* args,
               std::index_sequence<I...>) {
  return reinterpret_cast<CCS_amlarge_handler_t>(f)(token, len, &t.dest, &t.count, &t.desc, &t.done, &t.done_arg,
                                                    unsigned{sizeof...(I)}, args[I]...);
}

using large_caller = int (*)(void (*)(void), CCS_token_t, size_t, large_target&, const CCS_handler_arg_t*);
constexpr size_t n_callers = CCS_MAX_HANDLER_ARGS + 1;

template <size_t N>
struct caller_of {
  static void spread(void (*f)(void), CCS_token_t token, void* buffer, unsigned size, const std::byte* args) {
    call_spread(f, token, buffer, size, args, std::make_index_sequence<N>());
  }
  static void varargs(void (*f)(void), CCS_token_t token, void* buffer, unsigned size, const std::byte* args) {
    call_varargs(f, token, buffer, size, args, std::make_index_sequence<N>());
  }
  static int large(void (*f)(void), CCS_token_t token, size_t len, large_target& t, const CCS_handler_arg_t* args) {
    return call_large(f, token, len, t, args, std::make_index_sequence<N>());
  }
};

template <size_t... N>
constexpr std::array<caller, n_callers> spread_callers(std::index_sequence<N...>) {
  return {caller_of<N>::spread...};
}
template <size_t... N>
constexpr std::array<caller, n_callers> varargs_callers(std::index_sequence<N...>) {
  return {caller_of<N>::varargs...};
}
template <size_t... N>
constexpr std::array<large_caller, n_callers> large_callers(std::index_sequence<N...>) {
  return {caller_of<N>::large...};
}

constexpr auto by_number = std::make_index_sequence<n_callers>();
constexpr std::array<caller, n_callers> spread_table = spread_callers(by_number);
constexpr std::array<caller, n_callers> varargs_table = varargs_callers(by_number);
constexpr std::array<large_caller, n_callers> large_table = large_callers(by_number);

}  // namespace

void handler_table::set(CCS_context_t context, unsigned id, const handler& h) {
  handler with_callers = h;
  with_callers.callers = {};
  if (h.style != handler_style::large)
    for (size_t n = 0; n < n_callers; ++n)
      if (h.num_args < 0 || n == static_cast<size_t>(h.num_args))
        with_callers.callers[n] = (h.style == handler_style::spread ? spread_table : varargs_table)[n];
  auto entry = std::make_unique<const handler>(with_callers);
  std::lock_guard guard(lock_);
  all_.reserve(all_.size() + 1);
  contexts_[context].load(std::memory_order_relaxed)->handlers[id].store(entry.get(), std::memory_order_release);  // R1
  all_.push_back(std::move(entry));
}

int call_large_handler(const handler& h, CCS_token_t token, size_t len, large_target& target, unsigned n,
                       const CCS_handler_arg_t* args) {
  return large_table[n](h.function, token, len, target, args);
}

}  // namespace ccs
