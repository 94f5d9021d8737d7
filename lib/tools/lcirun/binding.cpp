#include "lib/tools/lcirun/binding.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/tools/lcirun/processes.hpp"

namespace lci::launcher {

namespace {

// Far more processors than any machine has; the kernel requires room for all that it could support.
constexpr int max_cpus = 1 << 14;

/// Runs the program and returns its standard output.
std::string output_of(const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(exit_not_found);
  }
  close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) != 0;) {
    if (n > 0) text.append(bytes, size_t(n));
    if (n < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error(words[0] + " " + describe_exit(status));
  return text;
}

binding parse(const std::string& line) {
  binding result;
  const size_t space = line.find(' ');
  std::istringstream list(line.substr(0, space));
  for (std::string word; std::getline(list, word, ',');) {
    const auto cpu = network::pmi1::parse_int(word);
    if (!cpu || *cpu < 0 || *cpu >= max_cpus) throw std::runtime_error("not processors: " + line);
    result.processors.push_back(*cpu);
  }
  if (space != std::string::npos) result.text = line.substr(space + 1);
  return result;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

const char* name_of(binding_t kind) {
  return kind == binding_t::core ? "core" : kind == binding_t::socket ? "socket" : "none";
}

std::string topology_program() {
  const std::string folder = folder_of(own_path());
  // In the build folder it is beside lcirun; installed, in libexec.
  for (const char* place : {"/lcirun_topology", "/../" LCI_LIBEXECDIR "/lci/lcirun_topology"}) {
    if (access((folder + place).c_str(), X_OK) == 0) return folder + place;
  }
  return {};
}

std::vector<binding> choose_bindings(binding_t kind, int ranks) {
  if (kind == binding_t::none) {
    return std::vector<binding>(size_t(ranks), binding{{}, "is not bound"});
  }
  const std::string program = topology_program();
  if (program.empty()) {
    throw std::runtime_error(std::string("--bind ") + name_of(kind) +
                             " needs lcirun_topology, which is not there: build LCI with hwloc "
                             "(Debian: libhwloc-dev), or leave --bind out");
  }
  std::vector<binding> bindings;
  std::istringstream lines(output_of({program, name_of(kind), std::to_string(ranks)}));
  for (std::string line; std::getline(lines, line);) bindings.push_back(parse(line));
  if (bindings.size() != size_t(ranks)) throw std::runtime_error(program + " gave a wrong answer");
  return bindings;
}

bool bind_to(const binding& where) {
  cpu_set_t* set = CPU_ALLOC(max_cpus);
  if (set == nullptr) return false;
  const size_t bytes = CPU_ALLOC_SIZE(max_cpus);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : where.processors) CPU_SET_S(size_t(cpu), bytes, set);
  const bool done = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

}  // namespace lci::launcher
