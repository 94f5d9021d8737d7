// If the system does not report changed mappings, registrations are shared, but unused ones are not kept.
#include <catch2/catch.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "lib/base/mapping_watch.hpp"
#include "tests/support/testing.hpp"

namespace {

/// Forbids userfaultfd to this thread by a seccomp filter, as containers do. False if the system has no filters.
bool forbid_userfaultfd() {
  sock_filter code[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_userfaultfd},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog program{sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct outcome {
  bool forbidden = false;
  std::string why_not;
  lci::reg_cache_stats_t without, trusting;
};

lci::reg_cache_stats_t use_twice(lci::runtime_t rt, bool trust) {
  auto device = lci::alloc_device_x().use_reg_cache(true).reg_cache_trust(trust).runtime(rt)();
  std::vector<char> memory(1000);
  for (int i = 0; i < 2; ++i) {
    auto mr = lci::register_memory_x(memory.data(), 1000).device(device).runtime(rt)();
    auto part = lci::register_memory_x(memory.data(), 10).device(device).runtime(rt)();
    lci::deregister_memory_x(&mr).runtime(rt)();
    lci::deregister_memory_x(&part).runtime(rt)();
  }
  const auto stats = lci::get_reg_cache_stats_x().device(device).runtime(rt)();
  lci::free_device_x(&device).runtime(rt)();
  return stats;
}

}  // namespace

TEST_CASE("without userfaultfd registrations are shared, but kept only with reg_cache_trust") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  lci::set_g_default_attr(attr);
  auto rt = lci::alloc_runtime_x()();
  lci::set_g_default_attr(before);
  outcome o;
  std::thread([&] {
    o.forbidden = forbid_userfaultfd();
    if (!o.forbidden) return;
    lci::mapping_watch::get(o.why_not);
    o.without = use_twice(rt, false);
    o.trusting = use_twice(rt, true);
  }).join();
  lci::free_runtime(&rt);
  if (!o.forbidden) return lci_test::skip("the system has no seccomp filters");
  CHECK(o.why_not.find("userfaultfd") != std::string::npos);
  CHECK(o.without.active);
  CHECK(!o.without.watched);
  CHECK(o.without.hits == 2);
  CHECK(o.without.misses == 2);
  CHECK(o.without.kept == 0);
  CHECK(o.trusting.hits == 3);
  CHECK(o.trusting.misses == 1);
  CHECK(o.trusting.kept == 1);
}
