// Parts of the services for other processes that belong to other subjects.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

/// Writes to where the pointer points, and advances it. 0, or an address that is not registered.
uintptr_t apply_indexed(process& p, uintptr_t pointer, const std::byte* data, size_t size);

/// The target of a large message has answered.
bool send_large(process& p, int node, const wire::large_answer& answer);

}  // namespace ccs
