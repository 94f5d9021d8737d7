#include "lib/core/post/begin_post.hpp"

#include "lib/base/memory.hpp"

namespace lci::core {

void throw_no_memory(post_kind what) {
  static constexpr const char* by_kind[] = {"post_am", "post_send", "post_recv", "post_put", "post_get", "post_atomic"};
  lci::throw_no_memory(by_kind[static_cast<size_t>(what)]);
}

}  // namespace lci::core
