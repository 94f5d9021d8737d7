// Defaults: the name of objects, and the allocator of messages.
#include <cstdlib>

#include "lci/types.hpp"

namespace lci {

const char* DEFAULT_NAME = "unnamed";

void* allocator_default_t::allocate(size_t size) { return std::malloc(size); }
void allocator_default_t::deallocate(void* ptr) { std::free(ptr); }
allocator_default_t g_allocator_default;

}  // namespace lci
