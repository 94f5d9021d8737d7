#include "lib/layers/na/errors.hpp"

#include <cstdarg>

#include "lib/base/error_line.hpp"

namespace na {

na_return_t refuse(na_return_t code, const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("na", function, format, arguments);
  va_end(arguments);
  return code;
}

na_return_t code_of(lci::status_t status, bool cancelled) noexcept {
  switch (status.error.errorcode) {
    case lci::errorcode_t::done_truncated:
      return NA_SIZE_ERROR;
    case lci::errorcode_t::cancelled:
      return cancelled ? NA_CANCELED : NA_PROTOCOL_ERROR;
    case lci::errorcode_t::timed_out:
      return NA_TIMEOUT;
    case lci::errorcode_t::no_memory:
      return NA_NOMEM_ERROR;
    default:
      return status.is_done() ? NA_SUCCESS : NA_PROTOCOL_ERROR;
  }
}

}  // namespace na

const char* NA_Error_to_string(na_return_t errnum) {
  switch (errnum) {
    case NA_SUCCESS:
      return "NA_SUCCESS";
    case NA_CANCELED:
      return "NA_CANCELED";
    case NA_TIMEOUT:
      return "NA_TIMEOUT";
    case NA_INVALID_PARAM:
      return "NA_INVALID_PARAM";
    case NA_SIZE_ERROR:
      return "NA_SIZE_ERROR";
    case NA_ALIGNMENT_ERROR:
      return "NA_ALIGNMENT_ERROR";
    case NA_PERMISSION_ERROR:
      return "NA_PERMISSION_ERROR";
    case NA_NOMEM_ERROR:
      return "NA_NOMEM_ERROR";
    case NA_PROTOCOL_ERROR:
      return "NA_PROTOCOL_ERROR";
  }
  return "NA_UNKNOWN_ERROR";
}
