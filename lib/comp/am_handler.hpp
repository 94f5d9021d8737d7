// Handler of active messages: a function of the user that gets a message in registers.
#pragma once

#include "lci/completion.hpp"
#include "lci/handles.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Does not own what the function refers to. As thread-safe as the function, which runs in the thread that finds the
/// message: inside progress() or a post.
class am_handler final : public comp_impl_t, public object_memory<am_handler, false> {
 public:
  am_handler(am_handler_t f, attr_t a) : comp_impl_t(a), function_(f) {
    attr.comp_type = attr_comp_type_t::handler;
    attr.am_in_place = true;
  }
  void signal(status_t s) override {
    if (s.is_done()) function_(attr.user_context, s.rank, s.buffer, s.size, s.tag);
  }
  am_handler_t called() const { return function_; }

 private:
  const am_handler_t function_;
};

}  // namespace lci::core
