// Medium buffers: packets, or ordinary memory where there are no more.
#pragma once

#include <lci.h>

#include <cstddef>
#include <cstring>

#include <lci.hpp>

#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Bytes of a packet beyond LCI_MEDIUM_SIZE, for what the library sends with a medium buffer.
constexpr size_t packet_slack = 64;

/// A packet; null if there is none.
void* take_packet();
/// The same, for a message of this rank: the last packets are from the reserve.
void* take_packet_to_send();
/// The same, for a receive that is posted. Returns null if senders need the packets that are left: then the receive
/// gets ordinary memory.
void* take_packet_to_receive();
/// For a post that the core has refused: returns LCI_ERR_RETRY, and gives the core a packet of the reserve, since the
/// next attempt may need one.
[[gnu::cold, gnu::noinline]] LCI_error_t refused();
/// Takes back a packet, or ordinary memory that has taken the place of one.
void give_back_packet(void* address);
/// The same for a buffer that was recorded in the checking mode.
void give_back_medium(void* address);
/// Returns whether the address is that of a packet that a post takes over.
bool is_packet(const void* address);

/// The same, without a lock where the device tells the memory of packets.
LCI_ALWAYS_INLINE inline bool may_be_packet(const LCI_endpoint_s& ep, const void* address) {
  const lci::detail::device_front& front = lci::detail::front_of(ep.core.p_impl);
  if (LCI_UNLIKELY(front.packets_size == 0)) return is_packet(address);
  return reinterpret_cast<uintptr_t>(address) - front.packets < front.packets_size;
}

/// A buffer of a long message, for a post. It stays the program's, but the core takes over a buffer that is a packet,
/// except one with a layout.
class owned_buffer {
 public:
  owned_buffer(const LCI_endpoint_s& ep, const void* address, size_t size)
      : whole_{0, size},
        layout_(lci::layout_t::iovec(&whole_, 1)),
        is_packet_(LCI_UNLIKELY(may_be_packet(ep, address))) {}
  owned_buffer(const owned_buffer&) = delete;
  owned_buffer& operator=(const owned_buffer&) = delete;
  const lci::layout_t* layout() const { return is_packet_ ? &layout_ : nullptr; }

 private:
  lci::layout_segment_t whole_;
  lci::layout_t layout_;
  bool is_packet_;
};

/// Posts a copy of a medium buffer, in a packet that the post takes over. `post(packet)` returns a code.
template <class F>
LCI_error_t post_copy(LCI_mbuffer_t buffer, F post) {
  void* const packet = take_packet_to_send();
  if (packet == nullptr) return LCI_ERR_RETRY;
  if (buffer.length > 0) std::memcpy(packet, buffer.address, buffer.length);
  LCI_error_t code;
  try {
    code = post(packet);
  } catch (...) {
    give_back_packet(packet);
    throw;
  }
  if (code != LCI_OK) give_back_packet(packet);
  return code;
}

/// Posts a medium buffer that the program hands over; `post()` returns a code. The core takes over a packet with what
/// it posts. This function gives back a buffer of ordinary memory, whose data was sent, and any buffer of a post that
/// has failed. After LCI_ERR_RETRY, and after an invalid argument, the buffer is still the program's.
template <class F>
LCI_error_t post_handed_over(void* address, F post) {
  const bool taken = is_packet(address);
  LCI_error_t code;
  try {
    code = post();
  } catch (const lci::invalid_argument_error&) {
    throw;
  } catch (...) {  // for example, the peer has failed
    give_back_medium(address);
    throw;
  }
  if (code == LCI_OK && !taken) give_back_medium(address);
  return code;
}

/// A buffer for a message that has arrived and must be kept: a packet, or ordinary memory. Throws std::bad_alloc.
LCI_mbuffer_t make_medium(size_t size);
/// Ordinary memory that takes the place of a packet. Throws std::bad_alloc.
void* ordinary_medium();

/// The core's registration of a buffer that is sent from or received into.
inline lci::mr_t registration_of(LCI_segment_t segment) { return segment != nullptr ? segment->mr : lci::MR_HOST; }

}  // namespace v1
