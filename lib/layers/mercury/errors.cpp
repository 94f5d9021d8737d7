// Functions for the version and the names of error codes.
#include <mercury.h>

#include "lib/layers/mercury/misuse.hpp"

hg_return_t HG_Version_get(unsigned int* major, unsigned int* minor, unsigned int* patch) {
  if (major == nullptr || minor == nullptr || patch == nullptr)
    return mercury::fail(HG_FAIL, __func__, "an argument is NULL, but must not be");
  *major = HG_VERSION_MAJOR;
  *minor = HG_VERSION_MINOR;
  *patch = HG_VERSION_PATCH;
  return HG_SUCCESS;
}

const char* HG_Error_to_string(hg_return_t errnum) {
  switch (errnum) {
    case HG_FAIL:
      return "HG_FAIL";
    case HG_SUCCESS:
      return "HG_SUCCESS";
    case HG_NA_ERROR:
      return "HG_NA_ERROR";
    case HG_TIMEOUT:
      return "HG_TIMEOUT";
    case HG_INVALID_PARAM:
      return "HG_INVALID_PARAM";
    case HG_SIZE_ERROR:
      return "HG_SIZE_ERROR";
    case HG_NOMEM_ERROR:
      return "HG_NOMEM_ERROR";
    case HG_PROTOCOL_ERROR:
      return "HG_PROTOCOL_ERROR";
    case HG_NO_MATCH:
      return "HG_NO_MATCH";
    case HG_CHECKSUM_ERROR:
      return "HG_CHECKSUM_ERROR";
  }
  return "HG_UNKNOWN_ERROR";
}
