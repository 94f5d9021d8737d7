// A rank that ends its job by lci::abort(), in one of several places, while the others wait for
// messages that never come. Arguments: the place, the rank that aborts, the code.
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <string>
#include <thread>

namespace {

int code = 0;

void abort_now() {
  lci::abort_x(code).message("as the test wants")();
  std::_Exit(99);  // it must not return
}

void handle(lci::status_t) { abort_now(); }

/// abort() runs neither destructors nor functions registered by atexit(), so this is never printed.
struct prints_at_exit {
  ~prints_at_exit() { std::fputs("destroyed\n", stderr); }
} at_end;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 98;
  const std::string place = argv[1];
  const int chosen = std::atoi(argv[2]);
  code = std::atoi(argv[3]);
  if (place == "without_runtime") abort_now();
  lci::g_runtime_init();
  lci::comp_t handler = lci::alloc_handler(handle);
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  std::printf("rank %d waits\n", lci::get_rank_me());
  std::fflush(stdout);
  lci::barrier();  // all ranks have printed their line before the job ends
  if (lci::get_rank_me() == chosen) {
    if (place == "main") abort_now();
    if (place == "threads") {  // two at once: one of them wins, and the process ends
      std::thread other(abort_now);
      std::thread another(abort_now);
      other.join();
      another.join();
    }
    if (place == "handler") {
      char byte = 0;
      lci::post_am(chosen, &byte, 1, lci::COMP_NULL, rcomp);
      for (;;) lci::progress();
    }
  }
  lci::comp_t never = lci::alloc_sync();
  lci::sync_wait(never, nullptr);  // asleep most of the time
  return 97;
}
