#include "lci/types.hpp"

namespace lci {

const char* get_errorcode_str(errorcode_t code) {
  switch (code) {
    case errorcode_t::done:
      return "done";
    case errorcode_t::done_backlog:
      return "done_backlog";
    case errorcode_t::done_truncated:
      return "done_truncated";
    case errorcode_t::posted:
      return "posted";
    case errorcode_t::posted_backlog:
      return "posted_backlog";
    case errorcode_t::retry:
      return "retry";
    case errorcode_t::retry_init:
      return "retry_init";
    case errorcode_t::retry_lock:
      return "retry_lock";
    case errorcode_t::retry_nopacket:
      return "retry_nopacket";
    case errorcode_t::retry_nomem:
      return "retry_nomem";
    case errorcode_t::retry_backlog:
      return "retry_backlog";
    case errorcode_t::fatal:
      return "fatal";
    case errorcode_t::cancelled:
      return "cancelled";
    case errorcode_t::timed_out:
      return "timed_out";
    case errorcode_t::no_memory:
      return "no_memory";
    case errorcode_t::done_min:
    case errorcode_t::done_max:
    case errorcode_t::posted_min:
    case errorcode_t::posted_max:
    case errorcode_t::retry_min:
    case errorcode_t::retry_max:
      break;
  }
  return "unknown";
}

}  // namespace lci
