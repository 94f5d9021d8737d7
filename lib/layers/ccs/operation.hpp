// Outstanding operations: the origin's state of operations that did not complete within their call.
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

/// The state that completing an operation needs. The thread that completes it deletes it. If the operation could not
/// begin, its owner deletes it without completing it; the destructor then undoes its counts and frees its number.
struct operation : due_callback {
  operation(process& p, int n, const char* f, CCS_callback_t c, void* a)
      : due_callback(c, a), of(p), node(n), function(f) {}
  ~operation() override;

  /// Who waits for it. `outstanding`: fences and the end of CCS; `receiving`: only the end of CCS.
  enum class counted : uint8_t { no, outstanding, receiving };
  void count_as(counted what);
  void end_count();
  /// Assigns a number, by which messages of other processes refer to the operation. Throws std::bad_alloc.
  uint64_t give_number();

  process& of;
  const int node;
  const char* const function;
  layout local;         ///< of a get, or of a large message: where data goes to, or comes from
  uint64_t number = 0;  ///< 0: none

 private:
  counted counts_ = counted::no;
};

/// Completes an operation whose data has arrived. Its number must have been freed. Allocates no memory.
void complete(std::unique_ptr<operation> op, int status = CCS_SUCCESS) noexcept;

/// A put or get of contiguous memory of the target, or an atomic operation, by remote access of the network. Needs keys
/// of the target's registrations, and waits for missing ones. `pieces` is the number of posted pieces that have not
/// completed, plus one while a thread is posting.
struct direct_operation : operation {
  using operation::operation;
  /// Bytes of a piece whose local side is not contiguous, so that it is packed into a buffer, or unpacked from it: few
  /// enough to stay in the second cache, and enough for a system call.
  static constexpr size_t packed_piece = size_t{64} << 10;
  enum class what : uint8_t { put, get, atomic } is = what::put;
  CCS_atomic_op_t atomic = CCS_ATOMIC_READ;
  uintptr_t here = 0, there = 0;         ///< `here` only if the local side is contiguous
  bool packs = false;                    ///< the local side is `local`, which is not contiguous
  std::unique_ptr<std::byte[]> spare{};  ///< a buffer of packed_piece bytes for the next piece; may be null
  size_t size = 0, begun = 0;
  CCS_atomic_type_t value = 0, compare = 0;
  std::atomic<size_t> pieces{1};
};

/// Posts all pieces whose keys are in the cache, and requests the first missing key. Sets `op` to null. Throws if there
/// is no memory and no piece was posted.
void advance(std::unique_ptr<direct_operation>& op);

}  // namespace ccs
