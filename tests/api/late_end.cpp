// A program frees its runtime while the process exits, after the destructors of objects that the library has created
// meanwhile: in the destructor of an object that is older than the runtime, or in a function of atexit() that was
// registered before g_runtime_init(). The ranks still communicate then.
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <string>

namespace {

lci::device_t device;

[[noreturn]] void fail(const char* reason) {
  std::fprintf(stderr, "FAILED: %s\n", reason);
  std::_Exit(1);
}

void end() noexcept {
  try {
    const int n = lci::get_rank_n();
    char out = static_cast<char>(lci::get_rank_me()), in = -1;
    lci::comp_t arrived = lci::alloc_sync();
    (void)lci::post_recv_x((out + n - 1) % n, &in, 1, 5, arrived).allow_done(false).allow_retry(false)();
    (void)lci::post_send((out + 1) % n, &out, 1, 5, lci::COMP_NULL);
    lci::sync_wait(arrived, nullptr);
    if (in != (out + n - 1) % n) fail("a wrong byte arrived");
    lci::free_comp(&arrived);
    lci::barrier();
    lci::free_device(&device);
    lci::g_runtime_fina();
  } catch (const std::exception& e) {
    fail(e.what());
  }
  std::printf("the runtime was freed\n");
}

struct older_object {
  bool ends_the_runtime = false;
  ~older_object() {
    if (ends_the_runtime) end();
  }
} older;

}  // namespace

int main(int argc, char** argv) {
  const bool by_atexit = argc > 1 && argv[1] == std::string("atexit");
  if (by_atexit && std::atexit(end) != 0) return 1;
  older.ends_the_runtime = !by_atexit;
  lci::g_runtime_init();
  device = lci::alloc_device();
  lci::barrier();
}
