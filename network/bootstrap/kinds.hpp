// What the files of this folder share: the kinds of bootstrap and the settings of the process's
// one. A new kind is one file that defines its `bootstrap_kind`, one line here, one in the table.
#pragma once

#include "network/bootstrap/bootstrap.hpp"

namespace lci::network {

extern const bootstrap_kind local_kind;
extern const bootstrap_kind pmi1_kind;

/// Seconds that create() is to use.
double bootstrap_timeout();

/// The environment variable's text; nullptr if it is unset or empty.
const char* env_text(const char* name);

/// What to do about an environment that can't be used.
extern const char* const bootstrap_remedy;

}  // namespace lci::network
