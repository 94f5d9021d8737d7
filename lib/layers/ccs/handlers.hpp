// The table of handlers by context and number, and calls of handlers.
#pragma once

#include <ccs.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci.hpp"
#include "lib/concurrent/spinlock.hpp"

/// The object behind CCS_token_t: the origin of the message whose handler is running. On the stack of the thread that
/// runs the handler.
struct CCS_token {
  CCS_node_t source;
  lci::tag_t tag;  // of the message; contains its address
  void* data;      // the program's data of the handler
};

namespace ccs {

enum class handler_style : uint8_t { varargs, spread, large };

/// Calls a handler of short messages with a fixed number of arguments: the words at `args`, at any alignment.
using caller = void (*)(void (*function)(void), CCS_token_t token, void* buffer, unsigned size, const std::byte* args);

struct handler {
  void (*function)(void);
  handler_style style;
  int num_args;          ///< -1: not known
  void* data = nullptr;  ///< the program's data
  /// By number of arguments, set by handler_table::set(); null where the handler can't have so many.
  std::array<caller, CCS_MAX_HANDLER_ARGS + 1> callers{};
};

/// The handlers of all contexts. Owned by `process`. Thread-safe: reading takes no lock. A replaced entry is freed with
/// the table, since another thread may be about to call it.
class handler_table {
 public:
  handler_table() {
    for (auto& each : contexts_) each.store(&none_, std::memory_order_relaxed);
  }
  /// Returns false if there are CCS_MAX_CONTEXTS contexts.
  bool add_context(CCS_context_t& number);
  unsigned n_contexts() const { return n_.load(std::memory_order_acquire); }
  void set(CCS_context_t context, unsigned id, const handler& h);
  /// Returns null if no handler is registered.
  const handler* find(CCS_context_t number, unsigned id) const {
    const context* const c = contexts_[number & (CCS_MAX_CONTEXTS - 1)].load(std::memory_order_acquire);  // A2
    return c->handlers[id & (CCS_MAX_HANDLERS - 1)].load(std::memory_order_acquire);                      // A1
  }

 private:
  struct context {
    std::array<std::atomic<const handler*>, CCS_MAX_HANDLERS> handlers{};
  };
  context none_;                                                  // without handlers, for numbers that are not in use
  std::array<std::atomic<context*>, CCS_MAX_CONTEXTS> contexts_;  // entries below n_ never change
  std::vector<std::unique_ptr<context>> owned_;
  std::atomic<unsigned> n_{0};
  lci::spinlock lock_;  // guards additions
  std::vector<std::unique_ptr<const handler>> all_;
};

/// The results of the header handler of a large message: where the data is to be written.
struct large_target {
  void* dest = nullptr;
  size_t count = 0;
  CCS_datadesc_t desc = CCS_DATA_NULL;
  CCS_callback_t done = nullptr;
  void* done_arg = nullptr;
};
int call_large_handler(const handler& h, CCS_token_t token, size_t len, large_target& target, unsigned n,
                       const CCS_handler_arg_t* args);

}  // namespace ccs
