// A kernel that has let the ranks access each other's memory at the start denies it later, once or from then on: large
// messages and collectives arrive all the same, and nothing throws. Started as `lcirun -n 2 shm_denied` with a value of
// LCI_ATTR_RDV_PROTOCOL.
#include <dlfcn.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <vector>

namespace {

std::atomic<long> allowed_calls{-1};  // before one that is denied; negative: all
std::atomic<bool> denies_others{false};
std::atomic<int> n_denied{0}, n_calls{0};

/// Returns whether this call is to fail.
bool is_denied() {
  n_calls.fetch_add(1);
  if (allowed_calls.load() < 0) return false;
  const long left = allowed_calls.fetch_sub(1);
  if (left > 0) return false;
  if (denies_others.load()) allowed_calls.store(0);
  n_denied.fetch_add(1);
  errno = EPERM;
  return true;
}

using copy_call = ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long);
template <class F>
F* original(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) ssize_t process_vm_readv(pid_t pid, const iovec* here, unsigned long n_here,
                                                                const iovec* there, unsigned long n_there,
                                                                unsigned long flags) {
  static auto* const real = original<copy_call>("process_vm_readv");
  return is_denied() ? -1 : real(pid, here, n_here, there, n_there, flags);
}
__attribute__((visibility("default"))) ssize_t process_vm_writev(pid_t pid, const iovec* here, unsigned long n_here,
                                                                 const iovec* there, unsigned long n_there,
                                                                 unsigned long flags) {
  static auto* const real = original<copy_call>("process_vm_writev");
  return is_denied() ? -1 : real(pid, here, n_here, there, n_there, flags);
}
}

namespace {

constexpr int skipped = 77;
int me, failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::fprintf(stderr, "rank %d: FAILED: %s\n", me, what);
}

constexpr std::array<size_t, 4> sizes = {30'000, 65'536, 300'001, 1 << 20};
char letter(int rank, size_t i, int round) {
  return static_cast<char>('a' + (static_cast<size_t>(rank + round) + i) % 26);
}
bool holds(const void* data, size_t size, char c) {
  const char* const bytes = static_cast<const char*>(data);
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] != c) return false;
  return true;
}

lci::comp_t arrived, ended;
lci::rcomp_t handler;

/// Exchanges messages of all kinds with the peer, in both directions at once.
void exchange(int round) {
  const int peer = 1 - me;
  std::vector<std::vector<char>> out, in;
  for (size_t i = 0; i < sizes.size(); ++i) {
    out.emplace_back(sizes[i], letter(me, i, round));
    in.emplace_back(sizes[i], '-');
    (void)lci::post_recv_x(peer, in[i].data(), sizes[i], static_cast<lci::tag_t>(i), arrived).allow_done(false)();
  }
  size_t to_end = 0, to_come = 2 * sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto tag = static_cast<lci::tag_t>(i);
    const auto semantic = i % 2 == 0 ? lci::comp_semantic_t::memory : lci::comp_semantic_t::remote;
    const auto post = [&](auto&& message) {
      lci::status_t s;
      while ((s = message.tag(tag).comp_semantic(semantic)()).is_retry()) lci::progress();
      to_end += s.is_posted();
    };
    post(lci::post_send_x(peer, out[i].data(), sizes[i], tag, ended));
    post(lci::post_am_x(peer, out[i].data(), sizes[i], ended, handler));
  }
  while (to_end + to_come > 0) {
    lci::progress();
    for (lci::status_t s; !(s = lci::cq_pop(ended)).is_retry(); --to_end) expect(s.is_done(), "a message ends well");
    for (lci::status_t s; !(s = lci::cq_pop(arrived)).is_retry(); --to_come) {
      const auto i = static_cast<size_t>(s.tag);
      expect(s.is_done() && s.size == sizes[i] && holds(s.buffer, s.size, letter(peer, i, round)), "a message arrives");
      if (s.buffer != in[i].data()) std::free(s.buffer);
    }
  }
  std::vector<uint32_t> mine(50'000, static_cast<uint32_t>(me) + 1), sum(mine.size());
  lci::allreduce(
      mine.data(), sum.data(), mine.size(), sizeof(uint32_t), [](const void* a, const void* b, void* r, size_t n) {
        for (size_t i = 0; i < n; ++i)
          static_cast<uint32_t*>(r)[i] = static_cast<const uint32_t*>(a)[i] + static_cast<const uint32_t*>(b)[i];
      });
  expect(sum.front() == 3 && sum.back() == 3, "an allreduce has the right result");
  std::vector<char> all(100'000, static_cast<char>('a' + me));
  lci::broadcast(all.data(), all.size(), round % 2);
  expect(holds(all.data(), all.size(), static_cast<char>('a' + round % 2)), "a broadcast arrives");
}

}  // namespace

int main() {
  lci::g_runtime_init();
  me = lci::get_rank_me();
  int code = 0;
  try {
    arrived = lci::alloc_cq(), ended = lci::alloc_cq();
    handler = lci::register_rcomp(arrived);
    lci::barrier();
    exchange(0);
    const char* const protocol = std::getenv("LCI_ATTR_RDV_PROTOCOL");
    const bool copies = protocol != nullptr && std::strcmp(protocol, "copy") == 0;
    int attached = n_calls.load() > 0;
    lci::broadcast(&attached, sizeof attached, 0);
    if (attached == 0) code = skipped;
    for (int round = 1; round <= 24 && attached != 0; ++round) {
      // One call is denied, at one rank or at both; in the last rounds all calls are.
      lci::barrier();
      const bool at_me = round % 3 == 2 || round % 3 == me;
      denies_others.store(round > 18);
      allowed_calls.store(at_me ? round / 3 % 4 : -1);
      lci::barrier();
      exchange(round);
      lci::barrier();
      allowed_calls.store(-1);
    }
    lci::barrier();
    expect(attached == 0 || copies || n_denied.load() >= 8, "calls were denied");
    std::printf("rank %d: %d of %d calls were denied\n", me, n_denied.load(), n_calls.load());
    exchange(0);
    while (lci::test_drained().is_retry()) lci::progress();
    lci::barrier();
    lci::free_comp(&arrived);
    lci::free_comp(&ended);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rank %d: FAILED: %s\n", me, e.what());
    std::fflush(nullptr);
    _Exit(1);
  }
  lci::g_runtime_fina();
  return failures == 0 ? code : 1;
}
