// Access to memory of a node: what puts, gets, atomic operations and accumulates share.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>

#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/process.hpp"

namespace ccs {

/// Where [begin, end) of a node's memory is in this process: its own, or memory that processes of the host share.
/// Null if it is not mapped here. Ends the job if it is this process's own and not registered.
std::byte* mapped_here(process& p, const char* function, int node, uintptr_t begin, uintptr_t end);

/// The lowest address of a layout's bytes, and the one behind the highest.
span place_of(const layout& l);

/// Copies all bytes of a shape to those of another one of the same size. They may overlap if both are contiguous.
void copy_between(const shape& from, uintptr_t from_base, const shape& to, uintptr_t to_base);

[[noreturn, gnu::cold]] void fail_unregistered(const char* function, int node, uint64_t address);

/// Ends a use of a key, and gives it back if its owner has asked for it.
void release_key(process& p, int node, remote_key* key);
/// Asks for the key of an address, if it is not known, for later operations: the memory may turn out to be mapped here.
void learn_key(process& p, int node, uintptr_t address);
/// A key has come, for which operations may be waiting.
void go_on_with_key(process& p, int node, const wire::key_reply& reply);

}  // namespace ccs
