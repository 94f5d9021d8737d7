// The kinds of bootstrap, and the timeout of the process's one. A new kind is one file that defines its
// `bootstrap_kind`, one line here, and one entry in bootstrap_kinds().
#pragma once

#include "lib/bootstrap/bootstrap.hpp"

namespace lci::network {

extern const bootstrap_kind file_kind;
extern const bootstrap_kind local_kind;
extern const bootstrap_kind mpi_kind;
extern const bootstrap_kind pmi1_kind;
extern const bootstrap_kind pmi2_kind;
extern const bootstrap_kind pmix_kind;
extern const bootstrap_kind tcp_kind;

/// Timeout in seconds for create(); 0: for ever.
double bootstrap_timeout();

}  // namespace lci::network
