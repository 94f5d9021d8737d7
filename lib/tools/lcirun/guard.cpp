#include "lib/tools/lcirun/guard.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>

#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

// timeout(1) and similar tools signal lcirun and then its process group: that is not a second SIGINT.
constexpr double second_interrupt_after = 0.25;

/// Blocks the signals that the signalfd reads, and SIGPIPE, for which write() returns an error instead.
sigset_t block_signals(original_state& original) {
  signal(SIGCHLD, SIG_DFL);  // if it were inherited as ignored, exit codes would be lost
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int each : forwarded_signals) {
    // Ignored by the parent (nohup, a script's `&`): ranks inherit that.
    struct sigaction now {};
    if (sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&signals, each);
  }
  sigset_t blocked = signals;
  sigaddset(&blocked, SIGPIPE);
  sigprocmask(SIG_BLOCK, &blocked, &original.signal_mask);
  getrlimit(RLIMIT_NOFILE, &original.files);
  return signals;
}

[[noreturn]] void become_job(const guarded_work& work, const original_state& original, int guard) {
  int code = exit_failure;
  try {
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited
    code = work(original, guard);
  } catch (const std::exception& error) {
    complain(text_of(error));
  }
  _exit(code);
}

class guard {
 public:
  guard(pid_t job, int orders, int signals) : job_(job), orders_(orders), signals_(signals) {}

  int wait() {
    for (;;) {
      signalfd_siginfo info;
      const ssize_t n = read(signals_, &info, sizeof info);
      if (n != sizeof info) continue;
      if (info.ssi_signo == SIGCHLD) {
        int status = 0;
        if (job_has_ended(status)) return finish(status);
      } else {
        pass_on(info);
      }
    }
  }

 private:
  bool job_has_ended(int& status) const {
    for (;;) {
      const pid_t pid = waitpid(-1, &status, WNOHANG);
      if (pid == job_) return true;
      if (pid <= 0) return false;
    }
  }

  int finish(int status) const {
    // Nothing is left if the job ended by itself; everything is if its process was killed.
    kill_descendants(5);
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    complain("the process that ran the job (pid " + std::to_string(job_) + ") " + describe_exit(status) +
             "; all ranks were killed");
    return exit_code(status);
  }

  void pass_on(const signalfd_siginfo& info) {
    guard_order order{static_cast<uint8_t>(info.ssi_signo), info.ssi_code == SI_KERNEL, false};
    if (info.ssi_signo == SIGINT) {
      if (interrupted_at_ > 0 && now() > interrupted_at_ + second_interrupt_after) {
        order.kill_hard = true;
      } else if (interrupted_at_ == 0) {
        interrupted_at_ = now();
      }
    }
    [[maybe_unused]] const ssize_t n = send(orders_, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const pid_t job_;
  const int orders_, signals_;
  double interrupted_at_ = 0;
};

}  // namespace

int run_guarded(const guarded_work& work) {
  original_state original;
  const sigset_t signals = block_signals(original);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) throw_errno("prctl(PR_SET_CHILD_SUBREAPER)");
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) throw_errno("socketpair");
  const pid_t pid = fork();
  if (pid < 0) throw_errno("fork");
  if (pid == 0) {
    close(pair[0]);
    become_job(work, original, pair[1]);
  }
  close(pair[1]);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (null > STDIN_FILENO) close(null);
  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
  if (signal_fd < 0) throw_errno("signalfd");
  return guard(pid, pair[0], signal_fd).wait();
}

}  // namespace lci::launcher
