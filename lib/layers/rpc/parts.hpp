// Results that do not fit in one response message.
#pragma once

#include <na.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lci::rpc::detail {

class engine_core;

/// Sends `size` bytes in several responses with this tag and cookie, from which the caller assembles the result. Stops
/// if the caller fails or disconnects. Returns false, having sent nothing, if there is no memory.
bool send_in_parts(engine_core& e, na_addr_t to, na_tag_t tag, uint64_t cookie, std::unique_ptr<char[]> result,
                   size_t size);

}  // namespace lci::rpc::detail
