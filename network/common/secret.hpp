// Random bytes by which a process knows that who connects has read its offer.
#pragma once

#include <array>

namespace lci::network {

/// Random, chosen by whoever listens, and known to all who have read its offer through the bootstrap.
using secret = std::array<unsigned char, 16>;

/// Throws resource_error if the system has no random bytes.
secret new_secret();

/// Takes the same time wherever the secrets differ.
bool equal(const secret& a, const secret& b);

}  // namespace lci::network
