#include "lib/layers/mercury/processor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "lib/layers/mercury/crc.hpp"

namespace mercury {

hg_return_t processor::grow(size_t size) {
  if (size <= size_) return HG_SUCCESS;
  if (op_ != HG_ENCODE) return HG_SIZE_ERROR;
  void* larger = hg_proc_buf_alloc(size);
  if (larger == nullptr) return HG_NOMEM_ERROR;
  const size_t n = used();
  if (n > 0) std::memcpy(larger, begin_, n);
  if (owns_extra_) hg_proc_buf_free(extra_);
  extra_ = larger;
  owns_extra_ = true;
  begin_ = static_cast<char*>(larger);
  at_ = begin_ + n;
  size_ = size;
  return HG_SUCCESS;
}

hg_return_t processor::make_room(size_t n) {
  if (op_ != HG_ENCODE) return HG_SIZE_ERROR;
  if (n > SIZE_MAX / 4 || size_ > SIZE_MAX / 4) return HG_SIZE_ERROR;
  return grow(std::max(2 * size_, used() + n));  // at least twice, so that appending takes linear time
}

hg_return_t processor::flush() {
  if (hash_ == HG_NOHASH || op_ == HG_FREE) return HG_SUCCESS;
  const uint64_t value = hash_ == HG_CRC64 ? crc64(crc64_start, begin_, used()) : crc16(crc16_start, begin_, used());
  const size_t n = hash_ == HG_CRC64 ? sizeof(uint64_t) : sizeof(uint16_t);
  uint64_t compared = value;
  const hg_return_t result = copy(&compared, n);  // the n lower bytes, which are the first ones in little-endian order
  if (result != HG_SUCCESS) return result;
  return compared == value ? HG_SUCCESS : HG_CHECKSUM_ERROR;
}

hg_return_t null_argument(const char* function, hg_proc_t proc) noexcept {
  return fail(HG_FAIL, function, "%s is NULL, but must not be", proc == nullptr ? "proc" : "data");
}

namespace {
processor* found(const char* function, hg_proc_t proc) { return get<processor>(function, "a processor", proc); }
}  // namespace

}  // namespace mercury

using namespace mercury;

void* hg_proc_buf_alloc(size_t size) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (size > SIZE_MAX - page) return nullptr;
  return std::aligned_alloc(page, std::max(page, (size + page - 1) / page * page));
}

hg_return_t hg_proc_buf_free(void* buf) {
  std::free(buf);
  return HG_SUCCESS;
}

hg_return_t hg_proc_create(void* buf, size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t* proc) {
  if (proc == nullptr) return fail(HG_FAIL, __func__, "proc is NULL, but must not be");
  if (op != HG_ENCODE && op != HG_DECODE && op != HG_FREE)
    return fail(HG_FAIL, __func__, "op is %d, but must be HG_ENCODE, HG_DECODE or HG_FREE", static_cast<int>(op));
  if (hash != HG_CRC16 && hash != HG_CRC64 && hash != HG_NOHASH)
    return fail(HG_FAIL, __func__, "hash is %d, but must be HG_CRC16, HG_CRC64 or HG_NOHASH", static_cast<int>(hash));
  if (buf == nullptr && (op == HG_DECODE || (op == HG_ENCODE && buf_size > 0)))
    return fail(HG_FAIL, __func__, "buf is NULL, but must not be with this op");
  processor* made = new (std::nothrow) processor(buf, buf != nullptr ? buf_size : 0, op, hash);
  if (made == nullptr) return fail(HG_NOMEM_ERROR, __func__, "no memory is left");
  *proc = made;
  return HG_SUCCESS;
}

hg_return_t hg_proc_free(hg_proc_t proc) {
  processor* p = found(__func__, proc);
  if (p == nullptr) return HG_FAIL;
  delete p;
  return HG_SUCCESS;
}

hg_proc_op_t hg_proc_get_op(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr ? p->op() : HG_FREE;
}

size_t hg_proc_get_size(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr ? p->size() : 0;
}

hg_return_t hg_proc_set_size(hg_proc_t proc, size_t size) {
  processor* p = found(__func__, proc);
  return p != nullptr ? p->grow(size) : HG_FAIL;
}

size_t hg_proc_get_size_left(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr ? p->left() : 0;
}

void* hg_proc_get_buf_ptr(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr ? p->at() : nullptr;
}

hg_return_t hg_proc_set_buf_ptr(hg_proc_t proc, void* buf_ptr) {
  processor* p = found(__func__, proc);
  if (p == nullptr) return HG_FAIL;
  return p->move_to(static_cast<char*>(buf_ptr)) ? HG_SUCCESS : HG_SIZE_ERROR;
}

void* hg_proc_get_extra_buf(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr ? p->extra() : nullptr;
}

size_t hg_proc_get_extra_size(hg_proc_t proc) {
  const processor* p = found(__func__, proc);
  return p != nullptr && p->extra() != nullptr ? p->size() : 0;
}

hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, hg_bool_t mine) {
  processor* p = found(__func__, proc);
  if (p == nullptr) return HG_FAIL;
  if (p->extra() == nullptr) return fail(HG_FAIL, __func__, "the processor has no extra buffer");
  p->set_owns_extra(mine == HG_FALSE);
  return HG_SUCCESS;
}

hg_return_t hg_proc_flush(hg_proc_t proc) {
  processor* p = found(__func__, proc);
  return p != nullptr ? p->flush() : HG_FAIL;
}
