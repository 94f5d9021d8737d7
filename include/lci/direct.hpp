// The direct paths, which functors try inline: giving a small message to the network, polling a device, and
// reading or writing one word of remote memory that this process has mapped. Internal: users include lci.hpp.
//
// A post that can't take a direct path (large messages, memory not mapped here, an observed device, rarely
// used or invalid arguments) is an ordinary call, which also checks the arguments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/config.hpp"
#include "lci/handles.hpp"
#include "lci/types.hpp"

namespace lci::detail {

/// A rank's shared heap: memory that all processes of its host can map. Size 0: there is none.
struct heap_window {
  uint64_t base = 0;          ///< address of its first byte at the owner
  std::byte* here = nullptr;  ///< where that byte is in this process
  size_t size = 0;
};

/// The part of a device that functors read: its second base class, which follows the first one's pointer.
/// Written by the device, read by all threads.
struct device_front {
  /// Bits, one for each reason why posts must not take a direct path.
  std::atomic<uint8_t> not_plain{0};
  int n_peers = 0;            ///< ranks of the job, plus the ids of external peers, which follow them
  unsigned shared_place = 0;  ///< rmr_t::place() of shared memory that is accessed through this device
  /// By peer; null until that peer's heap was looked up. Written after the window it points to.
  const std::atomic<const heap_window*>* heaps = nullptr;
  size_t direct_end = 0;        ///< messages of fewer bytes may take the direct path
  uintptr_t packets = 0;        ///< memory of the runtime's default packet pool; its packets take no
  size_t packets_size = 0;      ///< direct path, since a post returns them to the pool
  uint32_t engine = no_engine;  ///< the runtime's default matching engine
  static constexpr uint32_t no_engine = ~uint32_t{0};
};
constexpr size_t device_front_offset = sizeof(void*);

/// The default runtime's default device; null if there is none.
LCI_API extern std::atomic<core::device*> default_device;

/// Gives a message to the network. Any result but `done` means that nothing was sent.
LCI_API errorcode_t inject_am(core::device* d, int rank, rcomp_t comp, tag_t tag, const void* buffer, size_t size);
LCI_API errorcode_t inject_send(core::device* d, int rank, uint32_t engine_and_policy, tag_t tag, const void* buffer,
                                size_t size);
/// The arguments of an active message of a stream that reach its target, in one register.
struct delivery_terms {
  rcomp_t comp;
  uint32_t tag;
};
/// Gives an active message of a stream to the network, with the stream's next sequence number.
LCI_API errorcode_t inject_in_stream(core::device* d, const core::stream* s, int rank, delivery_terms terms,
                                     const void* buffer, size_t size);
/// The arguments of a receive that select messages, in one register: the tag in bits 0 to 31, the rank in bits 32 to
/// 61, and two bits. Bit 63 is set if the tag counts, so bits 0 to 61 and 63 are those of a matching key.
struct receive_terms {
  static constexpr uint64_t allow_done = uint64_t{1} << 62;
  static constexpr uint64_t tag_counts = uint64_t{1} << 63;
  static constexpr unsigned rank_bits = 30;

  /// `policy`: rank_tag or rank_only.
  static constexpr uint64_t pack(int rank, tag_t tag, matching_policy_t policy, bool may_be_done) {
    return static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | tag | (may_be_done ? allow_done : 0) |
           (policy == matching_policy_t::rank_tag ? tag_counts : 0);
  }
};
/// Posts a receive to the runtime's default matching engine. Returns null if it waits for a message. Else the status is
/// in memory of this thread, valid until its next call: `done...` if the receive has matched an unexpected message,
/// `retry...` if nothing was done.
LCI_API const status_t* file_receive(core::device* d, uint64_t terms, void* buffer, size_t size, comp_impl_t* comp,
                                     void* user_context);
/// progress() of the given device.
LCI_API error_t progress_of(core::device* d);
/// Notifies the target of a put that its memory has been written. Does not block: if the signal can't be sent now,
/// it is queued in the backlog.
LCI_API void signal_put(core::device* d, int rank, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size);

/// The device of the arguments, else the default one; null if they give a runtime but no device.
template <class Args>
LCI_ALWAYS_INLINE inline core::device* device_of(const Args& a) {
  core::device* d = a.device.p_impl;
  if (d == nullptr && a.runtime.p_impl == nullptr) d = default_device.load(std::memory_order_acquire);  // A1
  return d;
}
LCI_ALWAYS_INLINE inline const device_front& front_of(const core::device* d) {
  return *reinterpret_cast<const device_front*>(reinterpret_cast<const std::byte*>(d) + device_front_offset);
}

/// The address in this process of a post's remote memory; null if it is not mapped, or the arguments
/// are invalid.
template <class Args>
LCI_ALWAYS_INLINE inline std::byte* mapped_memory(const device_front& d, const Args& a, size_t size) {
  if (a.rmr.place() != d.shared_place || static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers) ||
      a.remote_disp > a.rmr.size() || size > a.rmr.size() - a.remote_disp ||
      d.not_plain.load(std::memory_order_acquire) != 0)  // acquire: see goes_directly()
    return nullptr;
  const heap_window* w = d.heaps[a.rank].load(std::memory_order_acquire);  // A1
  if (w == nullptr) return nullptr;
  const uint64_t offset = a.rmr.base + a.remote_disp - w->base;
  return offset <= w->size && size <= w->size - offset ? w->here + offset : nullptr;
}

/// Returns whether a put or get moves one machine word and uses no option but perhaps a signal.
template <class Args>
LCI_ALWAYS_INLINE inline bool is_word(const Args& a) {
  return a.size == 8 && a.local_buffer != nullptr && (a.tag >> 32) == 0 && a.allow_done && a.layout == nullptr &&
         a.remote_layout == nullptr && a.operation == nullptr && a.deadline == -1 &&
         static_cast<unsigned>(a.comp_semantic) <= static_cast<unsigned>(comp_semantic_t::remote);
}

template <class Args>
LCI_ALWAYS_INLINE inline status_t done_in_place(const Args& a, const void* buffer, size_t size, tag_t tag) {
  status_t s(errorcode_t::done);
  s.rank = a.rank;
  s.buffer = const_cast<void*>(buffer);
  s.size = size;
  s.tag = tag;
  s.user_context = a.user_context;
  return s;
}

/// Returns whether a message uses no rare arguments.
template <class Args>
LCI_ALWAYS_INLINE inline bool is_usual(const Args& a) {
  return a.allow_done && a.comp_semantic == comp_semantic_t::memory && a.operation == nullptr && a.deadline == -1 &&
         a.packet_pool.is_empty() && a.endpoint.is_empty() && a.local_buffer != nullptr && (a.tag >> 32) == 0;
}

/// Returns whether it can be given to the network without further checks. The acquire of `not_plain` is for the bit
/// that the device clears when its backlog has become empty: this message then follows all that were in the backlog.
template <class Args>
LCI_ALWAYS_INLINE inline bool goes_directly(const device_front& d, const Args& a) {
  return static_cast<unsigned>(a.rank) < static_cast<unsigned>(d.n_peers) && a.size < d.direct_end &&
         reinterpret_cast<uintptr_t>(a.local_buffer) - d.packets >= d.packets_size &&
         d.not_plain.load(std::memory_order_acquire) == 0;
}

// The functions below return false if they have done nothing.

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_am(const Args& a, status_t& status) {
  if (!is_usual(a) || a.remote_comp == 0 || a.layout != nullptr) return false;
  core::device* const d = device_of(a);
  if (d == nullptr || !goes_directly(front_of(d), a)) return false;
  const errorcode_t result =
      a.stream.is_empty() ? inject_am(d, a.rank, a.remote_comp, a.tag, a.local_buffer, a.size)
                          : inject_in_stream(d, a.stream.p_impl, a.rank, {a.remote_comp, static_cast<uint32_t>(a.tag)},
                                             a.local_buffer, a.size);
  if (result != errorcode_t::done) return false;
  status = done_in_place(a, a.local_buffer, a.size, a.tag);
  return true;
}

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_send(const Args& a, status_t& status) {
  if (!is_usual(a) || a.layout != nullptr || !a.matching_engine.is_empty() ||
      a.matching_policy >= matching_policy_t::max)
    return false;
  core::device* const d = device_of(a);
  if (d == nullptr) return false;
  const device_front& front = front_of(d);
  if (front.engine == device_front::no_engine || !goes_directly(front, a) ||
      inject_send(d, a.rank, front.engine << 8 | static_cast<uint32_t>(a.matching_policy), a.tag, a.local_buffer,
                  a.size) != errorcode_t::done)
    return false;
  status = done_in_place(a, a.local_buffer, a.size, a.tag);
  return true;
}

/// Returns whether file_receive() may post a receive from the rank. The device's default engine must exist.
LCI_ALWAYS_INLINE inline bool may_receive_directly(const device_front& d, int rank) {
  return static_cast<unsigned>(rank) < static_cast<unsigned>(d.n_peers) &&
         d.not_plain.load(std::memory_order_acquire) == 0;
}

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_recv(const Args& a, status_t& status) {
  if (a.layout != nullptr || a.operation != nullptr || a.deadline != -1 || !a.allow_posted || a.allocate ||
      !a.matching_engine.is_empty() || !a.mr.is_empty() || a.local_buffer == nullptr || (a.tag >> 32) != 0 ||
      a.local_comp.is_empty() || a.comp_semantic != comp_semantic_t::memory || static_cast<int64_t>(a.size) < 0 ||
      (a.matching_policy != matching_policy_t::rank_tag && a.matching_policy != matching_policy_t::rank_only))
    return false;
  core::device* const d = device_of(a);
  if (d == nullptr) return false;
  const device_front& front = front_of(d);
  if (front.engine == device_front::no_engine || !may_receive_directly(front, a.rank)) return false;
  const status_t* const result = file_receive(d, receive_terms::pack(a.rank, a.tag, a.matching_policy, a.allow_done),
                                              a.local_buffer, a.size, a.local_comp.p_impl, a.user_context);
  if (__builtin_expect(result == nullptr, 1)) {
    status = errorcode_t::posted;
    return true;
  }
  status = *result;
  return !status.is_retry();
}

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_progress(const Args& a, error_t& result) {
  if (!a.endpoint.is_empty()) return false;
  core::device* const d = device_of(a);
  if (d == nullptr) return false;
  result = progress_of(d);
  return true;
}

// A word is stored and loaded whole, since other processes may access it concurrently.

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_put(const Args& a, status_t& status) {
  if (!is_word(a) || a.ordered) return false;  // not every device permits ordered puts
  core::device* const d = device_of(a);
  std::byte* const to = d == nullptr ? nullptr : mapped_memory(front_of(d), a, 8);
  if (to == nullptr) return false;
  std::memcpy(to, a.local_buffer, 8);
  if (a.remote_comp != 0) signal_put(d, a.rank, a.remote_comp, a.tag, a.rmr.base + a.remote_disp, 8);
  status = done_in_place(a, a.local_buffer, 8, a.tag);
  return true;
}

template <class Args>
LCI_ALWAYS_INLINE inline bool direct_get(const Args& a, status_t& status) {
  if (!is_word(a) || a.remote_comp != 0) return false;
  const core::device* const d = device_of(a);
  const std::byte* const from = d == nullptr ? nullptr : mapped_memory(front_of(d), a, 8);
  if (from == nullptr) return false;
  std::memcpy(a.local_buffer, from, 8);
  status = done_in_place(a, a.local_buffer, 8, a.tag);
  return true;
}

/// Fetch-and-add of a 64-bit integer, the most frequent atomic operation.
template <class Args>
LCI_ALWAYS_INLINE inline bool direct_atomic(const Args& a, status_t& status) {
  if (a.op != atomic_op_t::add || (a.type != atomic_type_t::uint64 && a.type != atomic_type_t::int64) ||
      a.operand == nullptr || a.result == nullptr || !a.allow_done || a.operation != nullptr || a.deadline != -1 ||
      (a.rmr.base + a.remote_disp) % 8 != 0)
    return false;
  const core::device* const d = device_of(a);
  std::byte* const at = d == nullptr ? nullptr : mapped_memory(front_of(d), a, 8);
  if (at == nullptr) return false;
  uint64_t operand;
  std::memcpy(&operand, a.operand, 8);
  const uint64_t before = __atomic_fetch_add(reinterpret_cast<uint64_t*>(at), operand, __ATOMIC_SEQ_CST);
  std::memcpy(a.result, &before, 8);
  status = done_in_place(a, a.result, 8, 0);
  return true;
}

}  // namespace lci::detail
