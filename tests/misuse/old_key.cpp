// Accesses with a remote key whose registration has ended, or whose memory was unmapped: checks what
// docs/guide/memory.md says about each network. Rank 1 ends a registration and keeps the memory mapped; or, with the
// argument `unmapped`, it unmaps the memory and keeps the registration. Rank 0 gets and puts with the key.
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <thread>

namespace {

constexpr size_t size = 64;

/// The result of an operation: "done", "fatal" (also for a peer failure), "refused" or "?".
template <class Post>
std::string outcome_of(Post post) {
  try {
    lci::comp_t sync = lci::alloc_sync();
    lci::status_t status = post(sync);
    while (status.is_retry()) {
      lci::progress();
      status = post(sync);
    }
    if (status.is_posted()) lci::sync_wait(sync, &status);
    return status.error.errorcode == lci::errorcode_t::fatal ? "fatal" : status.is_done() ? "done" : "?";
  } catch (const lci::peer_failure_error&) {
    return "fatal";
  } catch (const lci::resource_error&) {
    return "refused";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string expected_get = argc > 1 ? argv[1] : "", expected_put = argc > 2 ? argv[2] : "";
  lci::g_runtime_init();
  const bool unmapped = argc > 3 && std::string(argv[3]) == "unmapped";
  static char bytes[size];
  char* const memory =
      static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 'a', size);
  lci::mr_t mr = lci::register_memory(memory, size);
  lci::rmr_t mine = lci::get_rmr(mr), all[2];
  lci::allgather(&mine, all, sizeof mine);
  lci::barrier();
  if (lci::get_rank_me() == 1) {
    if (unmapped)
      munmap(memory, size);
    else
      lci::deregister_memory(&mr);
  }
  lci::barrier();
  if (lci::get_rank_me() == 1) {
    // The other rank ends first, since it may detect the end of this one as a failure.
    try {
      for (int i = 0; i < 2000; ++i) {
        lci::progress();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (const lci::peer_failure_error&) {
    }
    std::_Exit(0);
  }
  const std::string get = outcome_of([&](lci::comp_t c) { return lci::post_get(1, bytes, size, c, 0, all[1]); });
  const std::string put = outcome_of([&](lci::comp_t c) { return lci::post_put(1, bytes, size, c, 0, all[1]); });
  const bool good = get == expected_get && put == expected_put;
  std::printf("a get by an old key: %s; a put: %s\n", get.c_str(), put.c_str());
  std::printf("cases: %d passed, %d failed, 0 skipped\n", good, !good);
  std::fflush(stdout);
  std::_Exit(good ? 0 : 1);
}
