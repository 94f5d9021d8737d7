// Test programs of several processes: main() starts its own program again as server and clients, without a launcher.
// They print their addresses on standard output, from which main() reads them.
#pragma once

#include <fcntl.h>
#include <na.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define REQUIRE(condition)                                                                                 \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      std::fprintf(stderr, "%s:%d: process %d: not true: %s\n", __FILE__, __LINE__, getpid(), #condition); \
      std::exit(3);                                                                                        \
    }                                                                                                      \
  } while (0)
#define REQUIRE_CODE(expected, call)                                                           \
  do {                                                                                         \
    const na_return_t code_ = (call);                                                          \
    if (code_ != (expected)) {                                                                 \
      std::fprintf(stderr, "%s:%d: process %d: %s: %s\n", __FILE__, __LINE__, getpid(), #call, \
                   NA_Error_to_string(code_));                                                 \
      std::exit(3);                                                                            \
    }                                                                                          \
  } while (0)

namespace test {

/// A child process. The destructor kills it if it is still running.
class process {
 public:
  /// Starts this program with these arguments.
  explicit process(std::vector<std::string> words) {
    int out[2];
    REQUIRE(pipe2(out, O_CLOEXEC) == 0);
    words.insert(words.begin(), "/proc/self/exe");
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(out[1], STDOUT_FILENO);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(out[1]);
    output_ = fdopen(out[0], "r");
  }
  ~process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::fclose(output_);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  /// Reads the process's next line. Returns an empty string if it has ended.
  std::string line() {
    char text[1024];
    if (std::fgets(text, sizeof text, output_) == nullptr) return "";
    text[std::strcspn(text, "\n")] = 0;
    return text;
  }
  /// Returns whether line() would return at once.
  bool has_output() const {
    pollfd pipe{fileno(output_), POLLIN, 0};
    return poll(&pipe, 1, 0) == 1;
  }
  void kill(int signal) { ::kill(pid_, signal); }
  /// Waits for the process. Returns its exit status, or 1000 plus the number of the signal that has killed it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  std::FILE* output_;
};

inline void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A class with a context.
struct network {
  explicit network(const char* url, bool listen = false) : c(NA_Initialize(url, listen ? NA_TRUE : NA_FALSE)) {
    REQUIRE(c != nullptr);
    x = NA_Context_create(c);
    REQUIRE(x != nullptr);
  }
  ~network() {
    if (x != nullptr) REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(c, x));
    REQUIRE_CODE(NA_SUCCESS, NA_Finalize(c));
  }
  network(const network&) = delete;
  network& operator=(const network&) = delete;

  std::string name(na_addr_t addr) const {
    char text[NA_MAX_ADDR_LEN];
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_to_string(c, text, sizeof text, addr));
    return text;
  }
  std::string own_name() const {
    na_addr_t self;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(c, &self));
    const std::string text = name(self);
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(c, self));
    return text;
  }
  na_addr_t find(const std::string& name) const {
    na_addr_t addr = NA_ADDR_NULL;
    REQUIRE_CODE(NA_SUCCESS, NA_Addr_lookup_wait(c, name.c_str(), &addr));
    return addr;
  }
  /// Makes progress and runs callbacks until the condition is true, at most a minute.
  template <class F>
  void until(F condition) const {
    const double end = now() + 60;
    while (!condition()) {
      REQUIRE(now() < end);
      unsigned n = 0;
      while (NA_Trigger(x, 0, 1, &n) == NA_SUCCESS) {
      }
      if (condition()) return;
      NA_Progress(c, x, 100);
    }
  }

  na_class_t* const c;
  na_context_t* x;
};

/// The information that a callback has received.
struct outcome {
  int calls = 0;
  na_cb_info info{};
  static na_return_t store(const na_cb_info* info) {
    auto* const o = static_cast<outcome*>(info->arg);
    ++o->calls;
    o->info = *info;
    return NA_SUCCESS;
  }
  bool done() const { return calls > 0; }
};

}  // namespace test
