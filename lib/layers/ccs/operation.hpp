// Outstanding operations: what is known here of an operation that did not complete at once.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci.hpp"
#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/due.hpp"

namespace ccs {

struct remote_key;
class process;

/// An outstanding operation: what completing it needs. The thread that completes it deletes it. One that is deleted
/// without, since it could not begin, leaves no trace: its destructor takes back what it counted as, and its number.
struct operation : due_callback {
  operation(process& p, int n, const char* f, CCS_callback_t c, void* a)
      : due_callback(c, a), of(p), node(n), function(f) {}
  ~operation() override;

  /// What waits for it: a fence, or the end of CCS only.
  enum class counted : uint8_t { no, outstanding, receiving };
  void count_as(counted what);
  void end_count();
  /// Gives it a number by which others name it. Throws std::bad_alloc.
  uint64_t give_number();

  process& of;
  const int node;
  const char* const function;
  layout local;         ///< of a get, or of a large message: where data goes to, or comes from
  uint64_t number = 0;  ///< 0: none

 private:
  counted counts_ = counted::no;
};

/// Ends an operation, which has no number any more: its data is in place. Needs no memory.
void complete(std::unique_ptr<operation> op, int status = CCS_SUCCESS) noexcept;

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

/// Posts what can be posted; asks for a key if that is missing. `op` becomes null. Throws if there is no memory and
/// nothing was begun.
void advance(std::unique_ptr<direct_operation>& op);

}  // namespace ccs
