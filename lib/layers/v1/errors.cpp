#include "lib/layers/v1/errors.hpp"

#include <cstdarg>
#include <new>

#include "lib/base/error_line.hpp"
#include "lib/layers/v1/vectors.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

LCI_error_t fail(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("lci", function, format, arguments);
  va_end(arguments);
  return LCI_ERR_FATAL;
}

LCI_error_t fail_by_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const lci::peer_failure_error& e) {
    const LCI_error_t code = fail(function, "%s", e.what());
    if (detail::current != nullptr) detail::current->failed_rank.store(e.failed_rank(), std::memory_order_relaxed);
    end_vectors_of(e.failed_rank());
    return code;
  } catch (const std::bad_alloc&) {
    return fail(function, "no memory is left");
  } catch (const std::exception& e) {
    return fail(function, "%s", e.what());
  } catch (...) {
    return fail(function, "a handler has thrown something that is no std::exception");
  }
}

}  // namespace v1
