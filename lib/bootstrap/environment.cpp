#include "lib/bootstrap/environment.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <vector>

#include "lci/errors.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network {

namespace {

/// The variables in which a launcher passes rank and size. Without `proof`, the others may belong to something else
/// (RANK) or be inherited (SLURM_PROCID of the step that lcirun was started in).
struct claim {
  const char* kind;
  const char* rank;
  const char* size;
  const char* proof;
};
constexpr claim claims[] = {
    {"pmi1", "PMI_RANK", "PMI_SIZE", "PMI_FD"},       {"pmix", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"tcp", "RANK", "WORLD_SIZE", "MASTER_ADDR"},     {"tcp", "RANK", "WORLD_SIZE", "LCT_MASTER_ADDR"},
    {"tcp", "RANK", "WORLD_SIZE", "LCI_MASTER_ADDR"}, {"tcp", "RANK", "WORLD_SIZE", "LCI_TCP_ROOT"},
};

std::string assignment(const char* name) { return std::string(name) + "=" + pmi1::printable(env_text(name)); }

[[noreturn]] void contradiction(const claim& a, const char* mine, const claim& b, const char* other) {
  throw bootstrap_error("the environment is contradictory: " + assignment(mine) + ", but " + assignment(other) +
                        "; unset the variables of the launcher that did not " +
                        "start this process, or say which did: LCI_ATTR_BOOTSTRAP=" + a.kind + " or " + b.kind);
}

bool differ(const char* a, const char* b) {
  const auto x = env_number(a), y = env_number(b);
  return x && y && *x != *y;
}

bool more_than_one(const char* variable) { return env_number(variable).value_or(0) > 1; }

/// Entry `node` of a list like "2(x3),1", which means 2, 2, 2, 1.
std::optional<int> nth_of_list(const std::string& list, int node) {
  size_t at = 0;
  while (at < list.size()) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    const size_t times = item.find("(x");
    const auto value = pmi1::parse_int(item.substr(0, times));
    std::optional<int> repeat = 1;
    if (times != std::string::npos) {
      const size_t close = item.find(')', times);
      if (close == std::string::npos) return std::nullopt;
      repeat = pmi1::parse_int(item.substr(times + 2, close - times - 2));
    }
    if (!value || !repeat || *repeat < 1) return std::nullopt;
    if (node < *repeat) return value;
    node -= *repeat;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace

const char* const bootstrap_remedy =
    "start the program with `lcirun -n N`, MPICH's or Open MPI's `mpiexec`, `srun --mpi=pmi2` or "
    "`--mpi=pmix`; LCI_ATTR_BOOTSTRAP=local makes it a job of one rank";

const char* env_text(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? nullptr : text;
}

std::optional<int> env_number(const char* name) {
  const char* text = env_text(name);
  return text == nullptr ? std::nullopt : pmi1::parse_int(text);
}

std::string need_text(const char* name, const char* group) {
  const char* text = env_text(name);
  if (text != nullptr) return text;
  throw bootstrap_error(std::string("the environment is incomplete: ") + group + " belong together, but " + name +
                        " is not set; " + bootstrap_remedy);
}

int need_number(const char* name, int lowest, const char* group) {
  const auto value = pmi1::parse_int(need_text(name, group));
  if (value && *value >= lowest) return *value;
  throw bootstrap_error(assignment(name) + " is not a number from " + std::to_string(lowest) + " to " +
                        std::to_string(INT_MAX) + "; " + bootstrap_remedy);
}

void check_rank(int rank, int size, const char* source) {
  if (size >= 1 && rank >= 0 && rank < size) return;
  throw bootstrap_error("rank " + std::to_string(rank) + " of " + std::to_string(size) + " is impossible (" + source +
                        "): the number of ranks must be at least 1, and the rank from 0 to that number - 1; " +
                        bootstrap_remedy);
}

void check_contradictions() {
  std::vector<const claim*> made;
  for (const claim& one : claims) {
    if (env_text(one.proof) != nullptr && env_text(one.rank) != nullptr) made.push_back(&one);
  }
  for (const claim* a : made) {
    for (const claim* b : made) {
      if (differ(a->rank, b->rank)) contradiction(*a, a->rank, *b, b->rank);
      if (differ(a->size, b->size)) contradiction(*a, a->size, *b, b->size);
    }
  }
}

void check_not_lonely() {
  // SLURM_JOB_ID alone does not show that a launcher started us: a batch script has it too.
  const char* variable = nullptr;
  const char* hint = "";
  if (more_than_one("OMPI_COMM_WORLD_SIZE")) {
    variable = "OMPI_COMM_WORLD_SIZE";
  } else if (more_than_one("SLURM_STEP_NUM_TASKS")) {
    variable = "SLURM_STEP_NUM_TASKS";
    hint = " (srun without --mpi=pmi2 or --mpi=pmix, or MpiDefault=none)";
  }
  if (variable == nullptr) return;
  throw bootstrap_error("a launcher has started this process as one of several (" + assignment(variable) + ")" + hint +
                        ", but left nothing to learn the rank from (PMI_FD, PMI_PORT, or "
                        "PMIX_RANK with PMIX_NAMESPACE); " +
                        bootstrap_remedy);
}

int claimed_size() {
  int most = 1;
  for (const claim& one : claims) {
    if (env_text(one.proof) != nullptr) most = std::max(most, env_number(one.size).value_or(1));
  }
  return std::max(most, env_number("SLURM_STEP_NUM_TASKS").value_or(1));
}

std::optional<host_place> place_by_environment() {
  auto rank = env_number("MPI_LOCALRANKID"), size = env_number("MPI_LOCALNRANKS");
  if (!rank || !size) {
    const auto node = env_number("SLURM_NODEID");
    const char* tasks = env_text("SLURM_STEP_TASKS_PER_NODE");
    rank = env_number("SLURM_LOCALID");
    if (rank && node && tasks != nullptr) size = nth_of_list(tasks, *node);
  }
  if (!rank || !size || *rank < 0 || *rank >= *size) return std::nullopt;
  return host_place{*rank, *size};
}

}  // namespace lci::network
