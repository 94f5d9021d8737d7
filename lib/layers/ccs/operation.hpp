// Operations on remote memory that did not complete at once.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci.hpp"
#include "lib/layers/ccs/description.hpp"

namespace ccs {

struct remote_key;
class process;

/// An outstanding operation: what completing it needs. The thread that completes it deletes it.
struct operation {
  operation(process& p, int n, const char* f, CCS_callback_t c, void* a)
      : of(p), node(n), function(f), callback(c), arg(a) {}
  virtual ~operation() = default;
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  process& of;
  const int node;
  const char* const function;
  const CCS_callback_t callback;
  void* const arg;
  layout local;        ///< of a get, or of a large message: where data goes to, or comes from
  bool counts = true;  ///< among the operations that a fence waits for
};

/// Ends an operation: its data is in place.
void complete(std::unique_ptr<operation> op, int status = CCS_SUCCESS);

/// A put or get of contiguous memory, or an atomic operation, by the network. It needs keys of the memory, for which
/// it may have to wait. `pieces` counts the outstanding ones, and the thread that posts them.
struct direct_operation : operation {
  using operation::operation;
  enum class what : uint8_t { put, get, atomic } is = what::put;
  CCS_atomic_op_t atomic = CCS_ATOMIC_READ;
  uintptr_t here = 0, there = 0;
  size_t size = 0, begun = 0;
  CCS_atomic_type_t value = 0, compare = 0;
  std::atomic<size_t> pieces{1};
};

/// Posts what can be posted; asks for a key if that is missing.
void advance(std::unique_ptr<direct_operation> op);

}  // namespace ccs
