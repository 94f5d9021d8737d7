// Memory of a running rank can't be accessed: puts and gets there fail with the system's error, and no peer
// failure is reported. Started as `lcirun -n 2 shm_refused` with LCI_ATTR_RDV_CHUNK_SIZE=65536.
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

constexpr size_t size = 1 << 20;
constexpr int skipped = 77;
int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: FAILED: %s\n", lci::get_rank_me(), what);
}

struct offer {
  lci::rmr_t rmr;
  void* address;
  pid_t pid;
};

void send(int to, const void* data, size_t bytes, lci::tag_t tag) {
  while (lci::post_send(to, const_cast<void*>(data), bytes, tag, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
}
void receive(int from, void* data, size_t bytes, lci::tag_t tag) {
  (void)lci::post_recv(from, data, bytes, tag, lci::COMP_NULL);
}

template <class F>
void expect_refusal(F f, const char* call, const char* what) {
  try {
    f();
    expect(false, what);
  } catch (const lci::resource_error& e) {
    const std::string text = e.what();
    std::printf("%s\n", e.what());
    expect(text.find(call) != text.npos && text.find("rank 1") != text.npos &&
               text.find(std::strerror(EFAULT)) != text.npos,
           what);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    expect(false, what);
  }
}

void owner() {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto mr = lci::register_memory(memory, size);
  const offer mine{lci::get_rmr(mr), memory, getpid()};
  send(0, &mine, sizeof mine, 1);
  bool go = false;
  receive(0, &go, sizeof go, 2);
  if (go) {
    auto cq = lci::alloc_cq();
    expect(lci::post_send_x(0, memory, size, 3, cq).allow_done(false)().is_posted(), "a large message is posted");
    mprotect(memory, size, PROT_NONE);
    send(0, &go, sizeof go, 4);
    receive(0, &go, sizeof go, 5);
    lci::free_comp(&cq);
  }
  lci::deregister_memory(&mr);
}

int user() {
  offer its;
  receive(1, &its, sizeof its, 1);
  std::vector<char> here(size, 'x');
  iovec local{here.data(), 8}, remote{its.address, 8};
  const bool attach = process_vm_readv(its.pid, &local, 1, &remote, 1, 0) == 8;
  send(1, &attach, sizeof attach, 2);
  if (!attach) return skipped;
  bool ready;
  receive(1, &ready, sizeof ready, 4);

  const auto put = [&](size_t bytes, lci::comp_t comp) {
    return lci::post_put(1, here.data(), bytes, comp, 0, its.rmr);
  };
  const auto get = [&](size_t bytes) { return lci::post_get(1, here.data(), bytes, lci::COMP_NULL, 0, its.rmr); };
  auto cq = lci::alloc_cq();
  expect_refusal([&] { (void)put(8, cq); }, "process_vm_writev", "a small put is refused");
  expect_refusal([&] { (void)get(8); }, "process_vm_readv", "a small get is refused");
  expect_refusal([&] { (void)put(size, lci::COMP_NULL); }, "process_vm_writev", "a large put is refused");
  expect_refusal([&] { (void)get(size); }, "process_vm_readv", "a large get is refused");
  expect_refusal([&] { receive(1, here.data(), size, 3); }, "process_vm_readv", "a large message's memory is refused");
  expect(put(size, cq).is_posted(), "a large put returns posted");
  lci::status_t s = lci::cq_pop(cq);
  expect(s.error.errorcode == lci::errorcode_t::fatal && s.rank == 1, "and ends as fatal");

  // No peer has failed, and no operation is left.
  for (int i = 0; i < 300; ++i) {
    lci::progress();
    usleep(1000);
  }
  expect(lci::test_drained().is_done(), "no operation is in flight");
  send(1, &ready, sizeof ready, 5);
  lci::free_comp(&cq);
  return 0;
}

}  // namespace

int main() {
  lci::g_runtime_init();
  int code = 0;
  try {
    lci::get_rank_me() == 0 ? void(code = user()) : owner();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: %s\n", lci::get_rank_me(), e.what());
    failures += 1;
  }
  lci::g_runtime_fina();
  return failures == 0 ? code : 1;
}
