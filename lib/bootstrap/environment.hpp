// What the environment tells about the launcher of this process, and whether it is consistent.
#pragma once

#include <optional>
#include <string>

#include "lib/bootstrap/bootstrap.hpp"

namespace lci::network {

/// The environment variable's text; nullptr if it is unset or empty.
const char* env_text(const char* name);

/// The variable as a number; nothing if it is unset or not a number.
std::optional<int> env_number(const char* name);

/// The variable as a number that is at least `lowest`. Throws bootstrap_error that names the variable; if it is unset,
/// the message says that it belongs to `group`.
int need_number(const char* name, int lowest, const char* group);
/// The variable's text; throws as need_number() does.
std::string need_text(const char* name, const char* group);

/// Throws bootstrap_error unless 0 <= rank < size; `source` names the variables.
void check_rank(int rank, int size, const char* source);

/// Throws bootstrap_error if variables of two launchers give this process different ranks or sizes: nothing tells which
/// launcher started it last.
void check_contradictions();

/// Throws bootstrap_error if a launcher has started this process as one of several, but left no variables from which
/// any kind of bootstrap could learn the rank. Otherwise N processes would silently each become rank 0 of 1.
void check_not_lonely();

/// The highest number of ranks that any launcher's variables claim; 1 if there are none.
int claimed_size();

/// This rank's position on its host, by the variables of MPICH's launcher, lcirun or Slurm.
std::optional<host_place> place_by_environment();

/// Ends error messages about an unusable environment: how to start the program instead.
extern const char* const bootstrap_remedy;

}  // namespace lci::network
