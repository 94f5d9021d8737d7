// SipHash-2-4 (Aumasson and Bernstein): a keyed hash, used as a message authentication code.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lci::launcher {

using secret_key = std::array<unsigned char, 16>;

uint64_t siphash(const secret_key& key, std::string_view data);

}  // namespace lci::launcher
