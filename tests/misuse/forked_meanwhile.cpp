// A process forks while another of its threads waits in g_runtime_init() for the other rank of the job. The child's
// calls are refused, it can start anew by restart_after_fork(), and it may call exit(). The parent's initialization
// goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <thread>

namespace {

int child() {
  alarm(20);
  std::string text = "nothing was thrown";
  try {
    lci::g_runtime_init();
  } catch (const lci::invalid_argument_error& e) {
    text = e.what();
  }
  if (text.find("fork()") == std::string::npos) {
    std::printf("FAILED: g_runtime_init() in the child: %s\n", text.c_str());
    return 2;
  }
  lci::restart_after_fork();
  lci::runtime_t own = lci::alloc_runtime_x().bootstrap("none")();
  const bool alone = lci::get_rank_n_x().runtime(own)() == 1;
  lci::free_runtime(&own);
  return alone ? 0 : 3;
}

int status_of(pid_t process) {
  int how = -1;
  waitpid(process, &how, 0);
  return how;
}

void meet() {
  lci::barrier();
  lci::g_runtime_fina();
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);
  if (argc > 1) {  // the other rank
    lci::g_runtime_init();
    meet();
    return 0;
  }
  char folder[] = "/tmp/lci-forked-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 4;
  setenv("LCT_PMI_BACKEND", "file", 1);
  setenv("LCT_PMI_FILE_NRANKS", "2", 1);
  setenv("LCT_PMI_FILE_NAME", (std::string(folder) + "/ranks").c_str(), 1);
  std::thread initializes([] { lci::g_runtime_init(); });
  usleep(300000);
  const pid_t forked = fork();
  if (forked == 0) std::exit(child());
  const int how = status_of(forked);
  if (how != 0) std::printf("FAILED: the child ends with status %d\n", how);
  const pid_t other = fork();
  if (other == 0) {
    execl("/proc/self/exe", argv[0], "other", nullptr);
    _exit(9);
  }
  initializes.join();
  meet();
  const int other_how = status_of(other);
  if (other_how != 0) std::printf("FAILED: the other rank ends with status %d\n", other_how);
  rmdir(folder);
  return how == 0 && other_how == 0 ? 0 : 1;
}
