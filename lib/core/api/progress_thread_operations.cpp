// Operations on progress threads.
#include <memory>

#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/core/api/handle_checks.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/runtime/progress_thread.hpp"

namespace lci::core {

namespace {

/// A handler may run in the progress thread that these operations wait for.
void require_no_handler(const char* operation) {
  if (tls_in_progress)
    throw_invalid(operation, "caller", "a handler", "outside of progress()", "a progress thread can't wait for itself");
}

}  // namespace

progress_thread_t alloc_progress_thread(alloc_progress_thread_args& a) {
  require_no_handler("alloc_progress_thread");
  if (a.attr.progress_mode == progress_mode_t::none)
    throw_invalid("alloc_progress_thread", "progress_mode", "none", "spin, adaptive or event");
  auto made = std::make_unique<progress_thread>(a.attr);
  made->add("alloc_progress_thread", *a.device.p_impl);
  return made.release();
}

void free_progress_thread(free_progress_thread_args& a) {
  check_allocated("free_progress_thread", "progress_thread", a.progress_thread);
  require_no_handler("free_progress_thread");
  delete take("free_progress_thread", "progress_thread", a.progress_thread);
}

void progress_thread_add_device(progress_thread_add_device_args& a) {
  require_no_handler("progress_thread_add_device");
  a.progress_thread.p_impl->add("progress_thread_add_device", *a.device.p_impl);
}

void progress_thread_remove_device(progress_thread_remove_device_args& a) {
  require_no_handler("progress_thread_remove_device");
  if (!a.progress_thread.p_impl->remove(*a.device.p_impl))
    throw_invalid("progress_thread_remove_device", "device", "not served by this thread", "one that is");
}

}  // namespace lci::core
