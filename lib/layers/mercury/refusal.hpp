// The answer to a call for which there is no memory. For HG and for lci/rpc.hpp.
#pragma once

#include "lib/layers/mercury/wire.hpp"
#include "lib/layers/na/direct.hpp"

namespace mercury {

/// Answers a call whose message could not be stored with HG_NOMEM_ERROR, now or when there is memory for the answer.
/// Needs no memory itself. Called inside progress.
inline void refuse_without_memory(na_class_t* na, na_addr_t source, na_tag_t tag) {
  struct answer {
    char bytes[sizeof(response_header)];
    answer() {
      response_header h;  // cookie 0, as the request has not been decoded
      h.result = HG_NOMEM_ERROR;
      seal(h, bytes);
    }
  };
  static const answer refusal;  // NA may send it later
  const na_tag_t answers = tag | na::answer_bit;
  if (NA_Direct_try(na, refusal.bytes, sizeof refusal.bytes, source, answers) == NA_TIMEOUT)
    NA_Direct_owe(na, refusal.bytes, sizeof refusal.bytes, source, answers);
}

}  // namespace mercury
