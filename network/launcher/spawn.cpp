#include "network/launcher/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "network/launcher/processes.hpp"

namespace lci::launcher {

namespace {

// Far more processors than any machine has; the kernel wants room for all it could have.
constexpr int max_cpus = 1 << 14;

[[noreturn]] void refuse(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<int> allowed_cpus() {
  cpu_set_t* set = CPU_ALLOC(max_cpus);
  if (set == nullptr) refuse("CPU_ALLOC");
  const size_t bytes = CPU_ALLOC_SIZE(max_cpus);
  std::vector<int> cpus;
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (int i = 0; i < max_cpus; ++i) {
      if (CPU_ISSET_S(size_t(i), bytes, set)) cpus.push_back(i);
    }
  }
  CPU_FREE(set);
  if (cpus.empty()) refuse("sched_getaffinity");
  return cpus;
}

/// In the new process, before the program runs: nobody to throw to.
[[noreturn]] void give_up(int rank, const std::string& text, int code) {
  complain("rank " + std::to_string(rank) + ": " + text + ": " + strerror(errno));
  _exit(code);
}

void bind_to(int rank, int cpu) {
  cpu_set_t* set = CPU_ALLOC(max_cpus);
  const size_t bytes = CPU_ALLOC_SIZE(max_cpus);
  if (set == nullptr) give_up(rank, "CPU_ALLOC", exit_failure);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(size_t(cpu), bytes, set);
  if (sched_setaffinity(0, bytes, set) != 0) {
    give_up(rank, "cannot bind to processor " + std::to_string(cpu), exit_failure);
  }
  CPU_FREE(set);
}

}  // namespace

spawner::spawner(const launch_options& options, const original_state& original, std::string job_id)
    : options_(options), original_(original), job_id_(std::move(job_id)) {
  if (options_.bind_core) cpus_ = allowed_cpus();
}

started_rank spawner::start(int rank) const {
  int pmi[2], out[2] = {-1, -1}, error[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pmi) != 0) refuse("socketpair");
  if (options_.label) {
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) refuse("pipe");
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) refuse("fork");
  if (pid == 0) become_rank(rank, pmi[1], out[1], error[1], parent);
  close(pmi[1]);
  if (options_.label) {
    close(out[1]);
    close(error[1]);
  }
  return {pid, pmi[0], out[0], error[0]};
}

void spawner::become_rank(int rank, int pmi, int out, int error, pid_t parent) const {
  // The order counts: had the parent died before prctl, no signal would come any more.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(rank, "prctl", exit_failure);
  if (getppid() != parent) _exit(exit_signal_base + SIGKILL);

  if (!cpus_.empty()) bind_to(rank, cpus_[size_t(rank) % cpus_.size()]);
  if (rank != 0) {
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0) give_up(rank, "/dev/null", exit_failure);
    if (null != STDIN_FILENO) {
      dup2(null, STDIN_FILENO);
      close(null);
    }
  }
  if (out >= 0) {
    dup2(out, STDOUT_FILENO);
    dup2(error, STDERR_FILENO);
  }
  fcntl(pmi, F_SETFD, 0);
  set_environment(rank, pmi);
  setrlimit(RLIMIT_NOFILE, &original_.files);
  sigprocmask(SIG_SETMASK, &original_.signal_mask, nullptr);

  std::vector<char*> words;
  for (const auto& word : options_.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(options_.program.c_str(), words.data());
  give_up(rank, "cannot execute '" + options_.program + "'",
          errno == ENOENT ? exit_not_found : exit_cannot_execute);
}

void spawner::set_environment(int rank, int pmi) const {
  const auto set = [](const char* name, const std::string& value) {
    setenv(name, value.c_str(), 1);
  };
  set("PMI_FD", std::to_string(pmi));
  set("PMI_RANK", std::to_string(rank));
  set("PMI_SIZE", std::to_string(options_.ranks));
  set("PMI_JOBID", job_id_);
  // By these names, which are hydra's, programs learn their place on the node.
  set("MPI_LOCALRANKID", std::to_string(rank));
  set("MPI_LOCALNRANKS", std::to_string(options_.ranks));
  // Left by a launcher around us, these would contradict ours.
  unsetenv("PMI_PORT");
  unsetenv("PMI_ID");
  unsetenv("PMI_SPAWNED");
}

}  // namespace lci::launcher
