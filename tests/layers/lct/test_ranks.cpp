// Ranks of LCT: without a launcher, with lcirun, and together with a runtime of LCI.
#include <lct.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <vector>

#include "tests/support/testing.hpp"
#include "tests/unit/threads.hpp"

namespace {

std::string got(int rank, std::string key) {
  char value[LCT_PMI_STRING_LIMIT];
  std::memset(value, 'x', sizeof value);
  LCT_pmi_getname(rank, key.data(), value);
  REQUIRE(std::memchr(value, '\0', sizeof value) != nullptr);
  return value;
}
void publish(std::string key, std::string value) { LCT_pmi_publish(key.data(), value.data()); }

std::vector<std::string> of_all(const std::string& key) {
  std::vector<std::string> all;
  for (int r = 0; r < LCT_pmi_get_size(); ++r) all.push_back(got(r, key));
  return all;
}
std::vector<std::string> expected(const std::string& begin) {
  std::vector<std::string> all;
  for (int r = 0; r < lci_test::process_count(); ++r) all.push_back(begin + std::to_string(r));
  return all;
}

}  // namespace

TEST_CASE("ranks exchange texts by keys", "[ranks]") {
  CHECK(!LCT_pmi_initialized());
  LCT_pmi_initialize();
  CHECK(LCT_pmi_initialized());
  const int me = LCT_pmi_get_rank();
  CHECK(me == lci_test::process_rank());
  CHECK(LCT_pmi_get_size() == lci_test::process_count());
  CHECK(LCT_get_rank() == me);

  const std::string long_key(LCT_PMI_STRING_LIMIT - 1, 'k'), odd_key = "spaces = and; \xc3\xa4";
  publish("key", "value " + std::to_string(me));
  publish(long_key, std::string(LCT_PMI_STRING_LIMIT - 2, 'v') + std::to_string(me % 10));
  publish(odd_key, "odd\n" + std::to_string(me));
  publish("empty", "");
  LCT_pmi_barrier();
  CHECK(of_all("key") == expected("value "));
  CHECK(of_all(long_key) == expected(std::string(LCT_PMI_STRING_LIMIT - 2, 'v')));
  CHECK(of_all(odd_key) == expected("odd\n"));
  CHECK(got(0, "empty").empty());

  publish("second", "round " + std::to_string(me));
  LCT_pmi_barrier();
  CHECK(of_all("second") == expected("round "));
  CHECK(of_all("key") == expected("value "));
  LCT_pmi_barrier();  // no rank has ended yet
  LCT_pmi_finalize();
  CHECK(!LCT_pmi_initialized());
}

TEST_CASE("initializations are counted, and a new session has its own keys", "[ranks]") {
  LCT_pmi_initialize();
  LCT_pmi_initialize();
  LCT_pmi_finalize();
  CHECK(LCT_pmi_initialized());
  publish("key", "new " + std::to_string(LCT_pmi_get_rank()));  // also published in the session before
  LCT_pmi_barrier();
  CHECK(of_all("key") == expected("new "));
  LCT_pmi_barrier();
  LCT_pmi_finalize();
  CHECK(!LCT_pmi_initialized());
}

TEST_CASE("a runtime of LCI and LCT share the bootstrap of the process", "[ranks]") {
  LCT_pmi_initialize();
  publish("before", "a" + std::to_string(LCT_pmi_get_rank()));
  lci::g_runtime_init();
  CHECK(lci::get_rank_me() == LCT_pmi_get_rank());
  CHECK(lci::get_rank_n() == LCT_pmi_get_size());
  publish("within", "b" + std::to_string(LCT_pmi_get_rank()));
  LCT_pmi_barrier();
  CHECK(of_all("before") == expected("a"));
  CHECK(of_all("within") == expected("b"));

  // Threads communicate with peers for the first time, and read names, while the launcher serves a barrier.
  const int n = lci::get_rank_n(), right = (lci::get_rank_me() + 1) % n;
  const auto wrong = lci_test::in_threads(3, [&](int i) {
    int bad = 0;
    if (i == 0) {
      for (int k = 0; k < 20; ++k) LCT_pmi_barrier();
    } else if (i == 1) {
      for (int k = 0; k < 50; ++k) bad += got(right, "within") != "b" + std::to_string(right);
    } else {
      const int sent = lci::get_rank_me();
      int received = -1;
      lci::comp_t sync = lci::alloc_sync();
      lci::status_t status = lci::post_recv((sent + n - 1) % n, &received, sizeof received, 3, sync);
      lci::post_send(right, const_cast<int*>(&sent), sizeof sent, 3, lci::COMP_NULL);
      if (status.is_posted()) lci::sync_wait(sync, &status);
      lci::free_comp(&sync);
      bad += received != (sent + n - 1) % n;
    }
    return bad;
  });
  for (int bad : wrong) CHECK(bad == 0);
  lci::barrier();
  lci::g_runtime_fina();
  LCT_pmi_barrier();
  LCT_pmi_finalize();
}
