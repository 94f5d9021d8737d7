// A rank for the launcher's tests: does what its arguments request, with lib/bootstrap only, and prints the results.
// Exit code 9: the library reported an error, whose text is on stderr.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "lci/errors.hpp"
#include "lib/bootstrap/bootstrap.hpp"
#include "lib/bootstrap/kinds.hpp"

namespace {

using lci::network::bootstrap;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

[[noreturn]] void wrong(const std::string& what) {
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
  std::_Exit(8);
}

/// Bytes of all kinds, different for each rank, size and round.
std::string value_of(int rank, size_t size, int round) {
  std::string value(size, '\0');
  unsigned state = unsigned(rank) * 2654435761u + unsigned(size) * 40503u + unsigned(round);
  for (char& c : value) {
    state = state * 1664525u + 1013904223u;
    c = char(state >> 24);
  }
  return value;
}

void info(bootstrap& boot) {
  const auto place = boot.locality().value_or(lci::network::host_place{-1, -1});
  std::printf("kind=%s rank=%d size=%d local=%d/%d job=%s time=%.6f\n", boot.name(), boot.rank(), boot.size(),
              place.rank, place.size, boot.job_id().c_str(), seconds_now());
}

/// Each rank puts values of many sizes; after the fence each reads those of all.
void exchange(bootstrap& boot, int rounds) {
  const size_t sizes[] = {0, 1, 2, 3, 100, 255, 256, 700, 1023, 1024, 1025, 2048, 4095, 4096};
  for (int round = 0; round < rounds; ++round) {
    const auto key = [&](int rank, size_t size) {
      return "k/" + std::to_string(round) + "." + std::to_string(rank) + "_" + std::to_string(size);
    };
    for (const size_t size : sizes) {
      boot.put(key(boot.rank(), size), value_of(boot.rank(), size, round));
    }
    boot.fence();
    for (int step = 0; step < boot.size(); ++step) {
      const int rank = (boot.rank() + step) % boot.size();
      for (const size_t size : sizes) {
        if (boot.get(key(rank, size), rank) != value_of(rank, size, round)) {
          wrong("value of " + key(rank, size));
        }
      }
    }
    boot.fence();
  }
  std::printf("exchanged rank=%d\n", boot.rank());
}

/// Measures an exchange of addresses: a put of 300 bytes by each rank, a fence, reading the values of some ranks one by
/// one, and reading all values.
void cost(bootstrap& boot, int rounds) {
  const auto seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  double fences = 0, gets = 0, gets_of_all = 0;
  const int some = std::min(7, boot.size());
  for (int i = 0; i < rounds; ++i) {
    const std::string prefix = "c" + std::to_string(i) + ".";
    boot.fence();
    const double begin = seconds();
    boot.put(prefix + std::to_string(boot.rank()), std::string(300, 'x'));
    boot.fence();
    const double middle = seconds();
    for (int k = 0; k < some; ++k) {
      const int peer = (boot.rank() + (1 << k) - 1) % boot.size();
      if (boot.get(prefix + std::to_string(peer), peer).size() != 300) wrong("value");
    }
    const double later = seconds();
    if (boot.get_all(prefix).size() != size_t(boot.size())) wrong("number of values");
    fences += middle - begin;
    gets += later - middle;
    gets_of_all += seconds() - later;
  }
  if (boot.rank() != 0) return;
  std::printf("%s, %d ranks: put and fence %.0f us, one value %.1f us, one of all %.1f us\n", boot.name(), boot.size(),
              fences / rounds * 1e6, gets / rounds / some * 1e6, gets_of_all / rounds / boot.size() * 1e6);
}

void misuse(bootstrap& boot) {
  const auto expect_invalid = [](const char* what, auto&& call) {
    try {
      call();
    } catch (const lci::invalid_argument_error&) {
      return;
    }
    wrong(std::string("accepted: ") + what);
  };
  expect_invalid("blank in key", [&] { boot.put("a b", "x"); });
  expect_invalid("empty key", [&] { boot.put("", "x"); });
  expect_invalid("long key", [&] { boot.get(std::string(49, 'k'), 0); });
  expect_invalid("huge value", [&] { boot.put("k", std::string(65537, 'v')); });
  try {
    boot.get("nobody-put-this", boot.size() - 1);
    wrong("a missing key was found");
  } catch (const lci::bootstrap_error& error) {
    if (std::string(error.what()).find("nobody-put-this") == std::string::npos) {
      wrong("error does not name the key");
    }
  }
  boot.fence();  // the session continues after each of these errors
  std::printf("misuse refused rank=%d\n", boot.rank());
}

/// A leak checker at the end of a forked process would report the threads of the parent, and what their stacks pointed
/// to.
[[noreturn]] void end_forked(int code) {
#ifdef __SANITIZE_ADDRESS__
  _exit(code);
#else
  std::exit(code);
#endif
}

void from_fork(bootstrap& boot) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    try {
      boot.fence();
    } catch (const lci::bootstrap_error& error) {
      end_forked(std::strstr(error.what(), "forked") != nullptr ? 0 : 1);
    }
    end_forked(1);
  }
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) wrong("a forked process used the session");
  boot.fence();
  std::printf("fork refused rank=%d\n", boot.rank());
}

int run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "info";
  const int number = argc > 2 ? std::atoi(argv[2]) : -1;
  if (what == "force") {
    info(lci::network::process_bootstrap({argv[2], argc > 3 ? std::atof(argv[3]) : -1}));
    return 0;
  }
  bootstrap& boot = lci::network::process_bootstrap();
  const bool chosen = boot.rank() == number;
  if (what == "info") {
    info(boot);
  } else if (what == "exchange") {
    exchange(boot, number);
  } else if (what == "cost") {
    cost(boot, number);
  } else if (what == "misuse") {
    misuse(boot);
  } else if (what == "fork") {
    from_fork(boot);
  } else if (what == "twice") {
    // As two consecutive runtimes do, requests the same session again.
    exchange(boot, 1);
    bootstrap& again = lci::network::process_bootstrap();
    if (&again != &boot) wrong("a second bootstrap");
    again.put("second." + std::to_string(again.rank()), "x");
    again.fence();
    if (again.get("second." + std::to_string(again.size() - 1), again.size() - 1) != "x") wrong("second round");
    info(again);
  } else if (what == "fence") {
    boot.fence();
    info(boot);
  } else if (what == "abort") {
    if (chosen) boot.abort(argc > 3 ? std::atoi(argv[3]) : 3, "as the test wants");
    boot.fence();
  } else if (what == "exit") {  // one rank exits while the others wait for it
    if (chosen) return argc > 3 ? std::atoi(argv[3]) : 0;
    boot.fence();
  } else if (what == "signal") {
    if (chosen) {
      const int which = argc > 3 ? std::atoi(argv[3]) : SIGKILL;
      std::signal(which, SIG_DFL);  // a sanitizer may have a handler of its own
      raise(which);
    }
    boot.fence();
  } else if (what == "late") {  // one rank enters the fence late
    if (chosen) usleep(useconds_t(std::atof(argv[3]) * 1e6));
    boot.fence();
    info(boot);
  } else if (what == "slow") {  // one rank reads a value when the others have ended
    boot.put("value", "x");
    boot.fence();
    if (chosen) usleep(useconds_t(std::atof(argv[3]) * 1e6));
    if (boot.get("value", 0) != "x") wrong("value");
    info(boot);
  } else {
    wrong("unknown request " + what);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 9;
  }
}
