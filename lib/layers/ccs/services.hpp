// Handlers of messages that are not in services.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

/// Executes an indexed put: writes to where the pointer points, and advances the pointer. Returns 0, or an address that
/// is not registered.
uintptr_t apply_indexed(process& p, uintptr_t pointer, const std::byte* data, size_t size);

/// Handles the answer of a large message's target: sends the data. Returns false if the answer is invalid.
bool send_large(process& p, int node, const wire::large_answer& answer);

}  // namespace ccs
