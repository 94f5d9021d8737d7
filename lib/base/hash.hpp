// A hash that is equal in all processes.
#pragma once

#include <cstdint>
#include <string_view>

namespace lci {

/// FNV-1a, 64 bits.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace lci
