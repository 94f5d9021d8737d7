// The variables by which PMIx launchers are detected.
#pragma once

#include "lib/bootstrap/environment.hpp"

namespace lci::network {

constexpr char pmix_variables[] = "PMIX_RANK and PMIX_NAMESPACE";

/// Throws bootstrap_error if only one of them is set.
inline bool pmix_detected() {
  if (env_text("PMIX_RANK") == nullptr && env_text("PMIX_NAMESPACE") == nullptr) return false;
  need_text("PMIX_RANK", pmix_variables);
  need_text("PMIX_NAMESPACE", pmix_variables);
  return true;
}

}  // namespace lci::network
