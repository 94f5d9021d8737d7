// What the files of this folder share: the kinds of bootstrap and the settings of the process's
// one. A new kind is one file that defines its `bootstrap_kind`, one line here, one in the table.
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

/// Seconds that create() is to use.
double bootstrap_timeout();

}  // namespace lci::network
