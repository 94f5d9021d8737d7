#include "lib/layers/v1/buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/packet_reserve.hpp"

using namespace v1;

packet_reserve::packet_reserve(size_t npackets) : size_(std::clamp<size_t>(npackets / 8, 1, most)) {
  missing_.store(size_, std::memory_order_relaxed);
}

void packet_reserve::fill() {
  std::lock_guard guard(lock_);
  size_t missing = missing_.load(std::memory_order_relaxed);
  while (missing > 0) {
    void* const packet = take_packet();
    if (packet == nullptr) break;
    packets_[size_ - missing--] = packet;
  }
  missing_.store(missing, std::memory_order_relaxed);
}

void* packet_reserve::take() {
  std::lock_guard guard(lock_);
  const size_t missing = missing_.load(std::memory_order_relaxed);
  if (missing == size_) return nullptr;
  missing_.store(missing + 1, std::memory_order_relaxed);
  return packets_[size_ - missing - 1];
}

void* v1::take_packet() { return lci::get_upacket_x().packet_pool(the_world().packets)(); }

void* v1::take_packet_to_send() {
  void* const packet = take_packet();
  return LCI_LIKELY(packet != nullptr) ? packet : the_world().reserve->take();
}

void* v1::take_packet_to_receive() {
  packet_reserve& reserve = *the_world().reserve;
  if (LCI_UNLIKELY(reserve.is_incomplete())) reserve.fill();
  return take_packet();
}

LCI_error_t v1::refused() {
  if (void* const packet = the_world().reserve->take()) give_back_packet(packet);
  return LCI_ERR_RETRY;
}

void v1::give_back_packet(void* address) { lci::put_upacket_x(address).runtime(the_world().runtime)(); }

void v1::give_back_medium(void* address) {
  record_returned(address);
  give_back_packet(address);
}

bool v1::is_packet(const void* address) { return lci::is_upacket_x(address).runtime(the_world().runtime)(); }

LCI_mbuffer_t v1::make_medium(size_t size) {
  void* const packet = take_packet();
  return {LCI_LIKELY(packet != nullptr) ? packet : ordinary_medium(), size};
}

void* v1::ordinary_medium() {
  void* const memory = lci::insist_on_memory([] {
    void* const ordinary = std::malloc(static_cast<size_t>(LCI_MEDIUM_SIZE));  // all of a medium buffer is its owner's
    if (ordinary == nullptr) throw std::bad_alloc();
    return ordinary;
  });
  record_allocated(memory);
  return memory;
}

LCI_error_t LCI_mbuffer_alloc(LCI_device_t device, LCI_mbuffer_t* mbuffer) {
  return guarded("LCI_mbuffer_alloc", [&] {
    if (checking()) check_buffer_call(device, mbuffer);
    void* packet = take_packet_to_send();
    if (packet == nullptr) return LCI_ERR_RETRY;
    *mbuffer = {packet, static_cast<size_t>(LCI_MEDIUM_SIZE)};
    return LCI_OK;
  });
}

LCI_error_t LCI_mbuffer_free(LCI_mbuffer_t mbuffer) {
  return guarded("LCI_mbuffer_free", [&] {
    if (checking()) check_medium_to_give(mbuffer.address);
    give_back_medium(mbuffer.address);
    return LCI_OK;
  });
}

LCI_error_t LCI_medium_free(LCI_mbuffer_t mbuffer) { return LCI_mbuffer_free(mbuffer); }

namespace {

LCI_error_t make_long(const char* function, LCI_device_t device, size_t size, size_t alignment,
                      LCI_lbuffer_t* lbuffer) {
  check_buffer_call(device, lbuffer);
  void* memory = nullptr;
  if (alignment == 0) {
    memory = std::malloc(size > 0 ? size : 1);
  } else if ((alignment & (alignment - 1)) != 0) {
    return fail(function, "alignment = %zu, but must be a power of two", alignment);
  } else if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), size > 0 ? size : 1) != 0) {
    memory = nullptr;
  }
  if (memory == nullptr)
    return fail(function, "size = %zu: the system has no such memory; free some, or ask for less", size);
  LCI_segment_t segment = nullptr;
  const LCI_error_t code = LCI_memory_register(device, memory, size, &segment);
  if (code != LCI_OK) {
    std::free(memory);
    return code;
  }
  record_allocated(memory);
  *lbuffer = {segment, memory, size};
  return LCI_OK;
}

}  // namespace

LCI_error_t LCI_lbuffer_alloc(LCI_device_t device, size_t size, LCI_lbuffer_t* lbuffer) {
  return guarded("LCI_lbuffer_alloc", [&] { return make_long("LCI_lbuffer_alloc", device, size, 0, lbuffer); });
}

LCI_error_t LCI_lbuffer_memalign(LCI_device_t device, size_t size, size_t alignment, LCI_lbuffer_t* lbuffer) {
  return guarded("LCI_lbuffer_memalign", [&] {
    if (alignment == 0) return fail("LCI_lbuffer_memalign", "alignment = 0, but must be a power of two");
    return make_long("LCI_lbuffer_memalign", device, size, alignment, lbuffer);
  });
}

LCI_error_t LCI_lbuffer_free(LCI_lbuffer_t lbuffer) {
  return guarded("LCI_lbuffer_free", [&] {
    if (detail::checks && detail::current != nullptr) check_memory_to_free(lbuffer.address);
    LCI_error_t code = LCI_OK;
    if (lbuffer.segment != nullptr) code = LCI_memory_deregister(&lbuffer.segment);
    record_returned(lbuffer.address);
    std::free(lbuffer.address);
    return code;
  });
}

size_t LCI_get_iovec_piggy_back_size(int count) {
  const size_t lengths = 24 + 8 * static_cast<size_t>(count < 0 ? 0 : count);
  const auto room = static_cast<size_t>(LCI_MEDIUM_SIZE);
  return LCI_MEDIUM_SIZE < 0 || lengths > room ? 0 : room - lengths;
}
