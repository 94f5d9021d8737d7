// Access to a node's memory: functions that puts, gets, atomic operations and accumulates share.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>

#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/process.hpp"

namespace ccs {

/// The address in this process of [begin, end) of a node's memory, if the node is this process or the memory is shared
/// between processes of the host; else null. Ends the job if it is this process's memory and not registered.
std::byte* mapped_here(process& p, const char* function, int node, uintptr_t begin, uintptr_t end);

/// The range from the lowest to the highest address of a layout's bytes.
span place_of(const layout& l);

/// Copies all bytes of a shape to another shape of the same size. The two may overlap if both are contiguous.
void copy_between(const shape& from, uintptr_t from_base, const shape& to, uintptr_t to_base);

[[noreturn, gnu::cold]] void fail_unregistered(const char* function, int node, uint64_t address);

/// Removes a user of a key. Returns the key to its owner if it was the last user and the owner has revoked the key.
void release_key(process& p, int node, remote_key* key);
/// Requests the key of an address unless it is in the cache. For later operations: the key shows whether this process
/// has mapped the memory.
void learn_key(process& p, int node, uintptr_t address);
/// Handles the reply to a key request: advances the operations that wait for the key.
void go_on_with_key(process& p, int node, const wire::key_reply& reply);

}  // namespace ccs
