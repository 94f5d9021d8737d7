// Random bytes that tell a process that whoever connects to it has read its offer.
#pragma once

#include <array>

namespace lci::network {

/// Random bytes that a listening process chooses. All who have read its offer through the bootstrap know them.
using secret = std::array<unsigned char, 16>;

/// Throws resource_error if the system has no random bytes.
secret new_secret();

/// Takes the same time wherever the secrets differ.
bool equal(const secret& a, const secret& b);

}  // namespace lci::network
