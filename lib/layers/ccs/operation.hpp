// Outstanding operations on remote memory.
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

/// An outstanding operation. complete() deletes it.
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
  layout local;        ///< destination of a get, or source of a large message's data
  bool counts = true;  ///< whether fences wait for it
};

/// Completes and deletes an operation, after its data has been written.
void complete(std::unique_ptr<operation> op, int status = CCS_SUCCESS);

/// A put or get of contiguous memory, or an atomic operation, by remote access of the network. Needs keys of the
/// target's registrations, and waits for missing ones. `pieces` is the number of posted pieces that have not completed,
/// plus one while a thread is posting.
struct direct_operation : operation {
  using operation::operation;
  enum class what : uint8_t { put, get, atomic } is = what::put;
  CCS_atomic_op_t atomic = CCS_ATOMIC_READ;
  uintptr_t here = 0, there = 0;
  size_t size = 0, begun = 0;
  CCS_atomic_type_t value = 0, compare = 0;
  std::atomic<size_t> pieces{1};
};

/// Posts pieces until all are posted or a key is missing, which it requests from the target.
void advance(std::unique_ptr<direct_operation> op);

}  // namespace ccs
