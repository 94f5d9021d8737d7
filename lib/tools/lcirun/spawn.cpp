#include "lib/tools/lcirun/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"
#include "lib/tools/lcirun/tools.hpp"

namespace lci::launcher {

namespace {

/// Called in the child before the program runs, where an exception could not be caught.
[[noreturn]] void give_up(int rank, const std::string& text, int code) {
  complain("rank " + std::to_string(rank) + ": " + text + ": " + strerror(errno));
  _exit(code);
}

}  // namespace

spawner::spawner(const launch_options& options, const host_share& share, const original_state& original,
                 std::string job_id)
    : options_(options),
      share_(share),
      original_(original),
      job_id_(std::move(job_id)),
      bindings_(choose_bindings(options.bind, share.count)) {}

std::string spawner::describe_binding(int rank) const { return bindings_[size_t(rank - share_.first)].text; }

started_rank spawner::start(int rank, const rank_wiring& wiring) const {
  int pmi[2], out[2] = {-1, wiring.out}, error[2] = {-1, wiring.error};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi) != 0) throw_errno("socketpair");
  if (wiring.capture) {
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) throw_errno("pipe");
  }
  const child_ends ends{pmi[1], out[1], error[1], wiring.input, getpid()};
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) become_rank(rank, ends);
  close(pmi[1]);
  if (wiring.capture) {
    close(out[1]);
    close(error[1]);
  }
  return {pid, pmi[0], out[0], error[0]};
}

void spawner::become_rank(int rank, const child_ends& ends) const {
  // In this order: if the parent died before prctl(), no signal would be sent, so check the parent afterwards.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(rank, "prctl", exit_failure);
  if (getppid() != ends.parent) _exit(exit_signal_base + SIGKILL);

  const binding& where = bindings_[size_t(rank - share_.first)];
  if (!where.processors.empty() && !bind_to(where)) give_up(rank, "cannot bind", exit_failure);
  if (ends.input >= 0) {
    dup2(ends.input, STDIN_FILENO);
  } else if (rank != 0) {
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0) give_up(rank, "/dev/null", exit_failure);
    if (null != STDIN_FILENO) {
      dup2(null, STDIN_FILENO);
      close(null);
    }
  }
  if (ends.out >= 0) dup2(ends.out, STDOUT_FILENO);
  if (ends.error >= 0) dup2(ends.error, STDERR_FILENO);
  fcntl(ends.pmi, F_SETFD, 0);
  if (!options_.folder.empty() && chdir(options_.folder.c_str()) != 0) {
    give_up(rank, "cannot enter the folder '" + options_.folder + "'; --wdir chooses another", exit_failure);
  }
  set_environment(rank, ends.pmi);
  setrlimit(RLIMIT_NOFILE, &original_.files);
  sigprocmask(SIG_SETMASK, &original_.signal_mask, nullptr);
  execute(rank);
}

void spawner::execute(int rank) const {
  const program_part& part = options_.parts[size_t(part_of(options_, rank))];
  std::vector<std::string> program = part.words;
  std::string path = part.path.empty() ? program[0] : part.path;
  if (options_.gdb.has(rank) || options_.valgrind.has(rank)) {
    program[0] = path;
    program = with_tools(options_, rank, std::move(program));
    path = program[0];
  }
  std::vector<char*> words;
  for (const auto& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(path.c_str(), words.data());
  give_up(rank, "cannot execute '" + path + "'" + (share_.host.empty() ? "" : " on " + share_.host),
          errno == ENOENT ? exit_not_found : exit_cannot_execute);
}

void spawner::set_environment(int rank, int pmi) const {
  const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  for (const std::string& each : options_.parts[size_t(part_of(options_, rank))].env) {
    const size_t equals = each.find('=');
    set(each.substr(0, equals).c_str(), each.substr(equals + 1));
  }
  set("PMI_FD", std::to_string(pmi));
  set("PMI_RANK", std::to_string(rank));
  set("PMI_SIZE", std::to_string(options_.ranks));
  set("PMI_JOBID", job_id_);
  // These names are hydra's: programs read their local rank and size from them.
  set("MPI_LOCALRANKID", std::to_string(rank - share_.first));
  set("MPI_LOCALNRANKS", std::to_string(share_.count));
  // If inherited from an outer launcher, these would contradict the variables above.
  unsetenv("PMI_PORT");
  unsetenv("PMI_ID");
  unsetenv("PMI_SPAWNED");
}

}  // namespace lci::launcher
