// Completion handler: a function of the user.
#pragma once

#include "lci/completion.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Does not own what the function refers to. As thread-safe as the function, which runs in the thread that finds the
/// operation complete: inside progress() or a post.
class handler final : public comp_impl_t, public object_memory<handler, false> {
 public:
  using function = void (*)(status_t);

  handler(function f, attr_t a) : comp_impl_t(a), function_(f) { attr.comp_type = attr_comp_type_t::handler; }
  void signal(status_t status) override { function_(status); }
  function called() const { return function_; }

 private:
  const function function_;
};

}  // namespace lci::core
