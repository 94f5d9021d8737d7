// The implementation of hg_proc_t.
#pragma once

#include <mercury_proc.h>

#include <bit>
#include <cstdint>
#include <cstring>

#include "lib/base/cpu.hpp"
#include "lib/layers/mercury/misuse.hpp"

namespace mercury {

class processor;
struct xdr_stream;
/// Returns null if there is no memory.
xdr_stream* new_xdr_stream(processor& p);
void delete_xdr_stream(xdr_stream* s);

/// Encodes into a buffer, decodes from a buffer, or frees decoded data (HG_FREE, without a buffer). Does not own the
/// buffer. An encoder whose buffer is full moves to an extra buffer, which it owns unless release_extra() is called.
/// One thread at a time may use it. Invariant: begin <= at <= begin + size.
class processor : public object<0x6d757072> {
 public:
  processor(void* buffer, size_t size, hg_proc_op_t op, hg_proc_hash_t hash = HG_NOHASH)
      : op_(op), hash_(hash), begin_(static_cast<char*>(buffer)), at_(begin_), size_(size) {}
  ~processor() {
    if (owns_extra_) hg_proc_buf_free(extra_);
    if (LCI_UNLIKELY(xdr_ != nullptr)) delete_xdr_stream(xdr_);
  }

  hg_proc_op_t op() const { return op_; }
  size_t size() const { return size_; }
  size_t left() const { return size_ - used(); }
  size_t used() const { return static_cast<size_t>(at_ - begin_); }
  char* at() const { return at_; }
  bool move_to(char* at) {
    if (at < begin_ || at > begin_ + size_) return false;
    at_ = at;
    return true;
  }
  void* extra() const { return extra_; }
  void set_owns_extra(bool owns) { owns_extra_ = owns; }
  void* release_extra() {
    owns_extra_ = false;
    return extra_;
  }

  /// Makes room for `size` bytes in total.
  hg_return_t grow(size_t size);
  /// Makes room for n more bytes.
  hg_return_t reserve(size_t n) { return LCI_LIKELY(n <= left()) ? HG_SUCCESS : make_room(n); }
  /// Appends or verifies the checksum.
  hg_return_t flush();

  /// Writes or reads n bytes. No effect with HG_FREE.
  hg_return_t copy(void* data, size_t n) {
    if (LCI_UNLIKELY(op_ == HG_FREE)) return step();
    if (const hg_return_t result = copy_uncounted(data, n); result != HG_SUCCESS) return result;
    return step();
  }
  /// Like copy(), but not counted as a step, and with HG_FREE not to be called.
  hg_return_t copy_uncounted(void* data, size_t n) {
    if (LCI_UNLIKELY(n > left()))
      if (const hg_return_t result = make_room(n); result != HG_SUCCESS) return result;
    if (n > 0) op_ == HG_ENCODE ? std::memcpy(at_, data, n) : std::memcpy(data, at_, n);
    at_ += n;
    return HG_SUCCESS;
  }
  /// Allocates the stream at the first call. Returns null if there is no memory.
  xdr_stream* xdr() { return xdr_ != nullptr ? xdr_ : xdr_ = new_xdr_stream(*this); }

  template <class T>
  hg_return_t integer(T* data) {
    static_assert(std::endian::native == std::endian::little, "integers travel in little-endian order");
    return copy(data, sizeof(T));
  }

  /// Counts a primitive routine that has succeeded. When a decoding fails after n steps, free_decoded() runs the
  /// program's routine again with HG_FREE and a limit of n steps: it frees the n decoded parts, and then fails too.
  hg_return_t step() {
    ++steps_;
    return LCI_LIKELY(steps_ <= limit_) ? HG_SUCCESS : HG_FAIL;
  }
  /// With HG_FREE: whether the next part has been decoded, so that it must be freed.
  bool may_free() const { return steps_ < limit_; }
  uint64_t steps() const { return steps_; }
  void set_limit(uint64_t limit) { limit_ = limit; }

 private:
  LCI_COLD hg_return_t make_room(size_t n);

  const hg_proc_op_t op_;
  const hg_proc_hash_t hash_;
  bool owns_extra_ = false;
  char* begin_;
  char* at_;
  size_t size_;
  void* extra_ = nullptr;
  xdr_stream* xdr_ = nullptr;
  uint64_t steps_ = 0;
  uint64_t limit_ = UINT64_MAX;
};

/// Frees the parts that a routine has decoded before it failed. See processor::step().
inline void free_decoded(const processor& failed, hg_proc_cb_t routine, void* data) {
  processor freeing(nullptr, 0, HG_FREE);
  freeing.set_limit(failed.steps());
  routine(&freeing, data);
}

/// Prints a line for a NULL argument of a processing routine; returns HG_FAIL.
[[gnu::cold, gnu::noinline]] hg_return_t null_argument(const char* function, hg_proc_t proc) noexcept;
/// Returns whether the arguments of a processing routine are not NULL. Freed processors are not detected, since each
/// encoded field calls this.
inline bool are_there(hg_proc_t proc, const void* data) { return LCI_LIKELY(proc != nullptr && data != nullptr); }

/// The processor behind a program's handle. Not checked.
inline processor& processor_of(hg_proc_t proc) { return *static_cast<processor*>(proc); }

}  // namespace mercury
