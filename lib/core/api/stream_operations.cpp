// Allocating and freeing streams.
#include "generated/core_operations.hpp"
#include "lib/core/api/handle_checks.hpp"
#include "lib/core/stream/stream.hpp"

namespace lci::core {

stream_t alloc_stream(alloc_stream_args& a) { return new stream(a.runtime, a.attr); }

void free_stream(free_stream_args& a) { delete take("free_stream", "stream", a.stream); }

}  // namespace lci::core
