// Medium buffers: packets, or ordinary memory where there are no more.
#pragma once

#include <lci.h>

#include <cstddef>

#include <lci.hpp>

#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Bytes of a packet beyond LCI_MEDIUM_SIZE, for what the library sends with a medium buffer.
constexpr size_t packet_slack = 64;

/// A packet; null if there is none.
void* take_packet();
/// Takes back a packet, or ordinary memory that has taken the place of one.
void give_back_packet(void* address);
/// Whether the address is that of a packet that a post takes over.
bool is_packet(const void* address);

/// A buffer for a message that has arrived and must be kept: a packet, or ordinary memory. Throws std::bad_alloc.
LCI_mbuffer_t make_medium(size_t size);

/// The core's registration of a buffer that is sent from or received into.
inline lci::mr_t registration_of(LCI_segment_t segment) { return segment != nullptr ? segment->mr : lci::MR_HOST; }

}  // namespace v1
