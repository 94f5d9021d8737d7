// What the files of this folder share: the kinds of bootstrap and the settings of the process's
// one. A new kind is one file that defines its `bootstrap_kind`, one line here, one in the table.
#pragma once

#include <string>

#include "network/bootstrap/bootstrap.hpp"

namespace lci::network {

extern const bootstrap_kind local_kind;
extern const bootstrap_kind pmi1_kind;

/// How the process's bootstrap is to be made. Empty or negative: as the environment
/// (LCI_ATTR_BOOTSTRAP, LCI_ATTR_BOOTSTRAP_TIMEOUT) says, or else the default.
struct bootstrap_options {
  std::string kind;
  double timeout = -1;  // seconds for each exchange with the launcher; 0 = for ever
};

/// As process_bootstrap(), for callers with attributes of their own. If the process has its
/// bootstrap already, it is returned and the options have no effect, except that asking for another
/// kind by name throws bootstrap_error.
bootstrap& process_bootstrap(const bootstrap_options& options);

/// Seconds that create() is to use.
double bootstrap_timeout();

/// The environment variable's text; nullptr if it is unset or empty.
const char* env_text(const char* name);

/// What to do about an environment that can't be used.
extern const char* const bootstrap_remedy;

}  // namespace lci::network
