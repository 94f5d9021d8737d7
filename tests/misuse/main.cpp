// Runs all generated cases of misuse: each call must be refused or do what the reference says, without a signal
// or a hang, and the library must work afterwards.
//
// The cases run in a child process one by one; shared memory contains the number of the current one. If the child
// dies or takes too long, that case has failed, and a new child continues with the next one. The child is forked
// before any runtime is allocated, since a child of a process with a runtime can't communicate.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "tests/misuse/cases.hpp"
#include "tests/misuse/setting.hpp"
#include "tests/support/testing.hpp"

namespace {

using namespace misuse;

/// Memory that parent and child share.
struct notes {
  std::atomic<size_t> at{0};       // the current case
  std::atomic<bool> ready{false};  // the child has its runtimes
  std::atomic<long> passed{0}, failed{0}, unchecked{0};
};

constexpr int seconds_a_case = 20 * lci_test::time_scale;

bool of_the_library(const std::exception& e) {
  return dynamic_cast<const lci::invalid_argument_error*>(&e) != nullptr ||
         dynamic_cast<const lci::resource_error*>(&e) != nullptr ||
         dynamic_cast<const lci::peer_failure_error*>(&e) != nullptr ||
         dynamic_cast<const lci::option_error*>(&e) != nullptr;
}

std::string title(const misuse_case& c) {
  return std::string(c.operation) + (*c.argument == '\0' ? "" : std::string(": ") + c.argument + " = ") + c.value;
}

/// Runs a case; returns the error, or an empty text.
std::string findings(const misuse_case& c, setting& s) {
  std::string wrong;
  try {
    c.run(s);
    if (c.expected == outcome::refused) wrong = "it was accepted";
  } catch (const std::exception& e) {
    const std::string text = e.what();
    if (!of_the_library(e))
      wrong = "it threw an exception that is not the library's: " + text;
    else if (c.expected == outcome::fine)
      wrong = "it was refused: " + text;
    else if (c.expected == outcome::refused && text.find(c.argument) == std::string::npos)
      wrong = "the text does not name the argument: " + text;
  }
  try {
    if (!s.works()) wrong += (wrong.empty() ? "" : "; ") + std::string("nothing works afterwards");
  } catch (const std::exception& e) {
    wrong += (wrong.empty() ? "" : "; ") + std::string("afterwards: ") + e.what();
  }
  return wrong;
}

[[noreturn]] void try_cases(notes& n, bool checked, const char* only) {
  setting s;
  n.ready = true;
  for (; n.at < n_cases; ++n.at) {
    const misuse_case& c = cases[n.at];
    if (only != nullptr && title(c).find(only) == std::string::npos) continue;
    if (c.when == mode::checked && !checked) {
      ++n.unchecked;
      continue;
    }
    if (c.when == mode::unchecked && checked) continue;  // another case covers that mode
    const std::string wrong = findings(c, s);
    if (wrong.empty()) {
      ++n.passed;
    } else {
      ++n.failed;
      std::printf("FAILED %s: %s\n", title(c).c_str(), wrong.c_str());
      std::fflush(stdout);
    }
  }
  _exit(0);
}

/// Waits for the child; returns why it ended, or an empty text if it has run all cases.
std::string watch_child(pid_t child, const notes& n) {
  size_t seen = n.at;
  bool ready = n.ready;
  for (double quiet = 0;;) {
    int how = 0;
    if (waitpid(child, &how, WNOHANG) == child) {
      if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return {};
      if (WIFEXITED(how)) return "the process ended with status " + std::to_string(WEXITSTATUS(how));
      return std::string("signal: ") + strsignal(WTERMSIG(how));
    }
    constexpr timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
    quiet += 5e-3;
    if (seen != n.at || ready != n.ready) {
      seen = n.at;
      ready = n.ready;
      quiet = 0;
    }
    if (quiet > seconds_a_case) {
      kill(child, SIGKILL);
      waitpid(child, &how, 0);
      return "it hung for " + std::to_string(seconds_a_case) + " s";
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* only = argc > 1 ? argv[1] : nullptr;
  const char* check = std::getenv("LCI_ATTR_CHECK");
  const bool checked = check != nullptr && std::strcmp(check, "1") == 0;
  // Each runtime of the child is a job of its own, whatever started the program.
  setenv("LCI_ATTR_BOOTSTRAP", "none", 1);
  setenv("LCI_ATTR_MAX_PEERS", "0", 1);
  void* shared = mmap(nullptr, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  notes& n = *new (shared) notes;
  while (n.at < n_cases) {
    n.ready = false;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) try_cases(n, checked, only);
    const std::string how = watch_child(child, n);
    if (how.empty()) break;
    if (!n.ready) {
      std::printf("FAILED to make a runtime: %s\n", how.c_str());
      return 1;
    }
    ++n.failed;
    std::printf("FAILED %s: %s\n", title(cases[n.at]).c_str(), how.c_str());
    std::fflush(stdout);
    ++n.at;
  }
  if (n.unchecked > 0)
    std::printf(
        "%ld cases are run only with checked calls: without the check, the reference says that "
        "the results are undefined\n",
        n.unchecked.load());
  std::printf("cases: %ld passed, %ld failed, 0 skipped\n", n.passed.load(), n.failed.load());
  return n.failed == 0 && n.passed > 0 ? 0 : 1;
}
