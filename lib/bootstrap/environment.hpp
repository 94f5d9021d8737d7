// What the environment says about who started this process, and whether it says one thing only.
#pragma once

#include <optional>
#include <string>

#include "lib/bootstrap/bootstrap.hpp"

namespace lci::network {

/// The environment variable's text; nullptr if it is unset or empty.
const char* env_text(const char* name);

/// The variable as a number, or nothing where it is unset or no number.
std::optional<int> env_number(const char* name);

/// The variable as a number from `lowest` on. Throws bootstrap_error that names it, or, where it is
/// unset, says that it belongs to `group`.
int need_number(const char* name, int lowest, const char* group);
/// Its text; throws the same way.
std::string need_text(const char* name, const char* group);

/// Throws bootstrap_error if `rank` is none of `size`; `source` names the variables.
void check_rank(int rank, int size, const char* source);

/// Throws bootstrap_error if two launchers have left variables that give this process different
/// ranks or sizes: nothing tells which of them started it last.
void check_contradictions();

/// Throws bootstrap_error if a launcher has started this process as one of several, but left nothing
/// by which any kind of bootstrap could learn the rank. N processes that each take themselves for
/// rank 0 of 1 would be a silent disaster.
void check_not_lonely();

/// The highest number of ranks that any launcher's variables claim; 1 if there are none.
int claimed_size();

/// Which rank of this host we are, by variables of MPICH's launcher, lcirun or Slurm.
std::optional<host_place> place_by_environment();

/// What to do about an environment that can't be used.
extern const char* const bootstrap_remedy;

}  // namespace lci::network
