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
  /// Calls the function of a handler, whose address is `to`, with an active message.
  static void deliver(void* to, int rank, const void* data, size_t size, tag_t tag) {
    status_t s(errorcode_t::done);
    s.rank = rank;
    s.buffer = const_cast<void*>(data);
    s.size = size;
    s.tag = tag;
    reinterpret_cast<function>(to)(s);
  }

 private:
  const function function_;
};

}  // namespace lci::core
