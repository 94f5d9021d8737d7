// Peers outside of the job: what fails for want of memory loses no id and no registration.
#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "lib/core/runtime/external_peers.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "network/routed/with_outside_device.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using lci_test::failing_memory;
namespace net = lci::network;

/// A job of one process, with that many ids.
struct lone_runtime {
  explicit lone_runtime(int ids)
      : handle(lci::alloc_runtime_x().bootstrap("none").max_peers(static_cast<size_t>(ids))()) {}
  ~lone_runtime() { lci::free_runtime(&handle); }
  lci::runtime_t handle;
};

/// Tries to connect, which can't succeed, without memory for one allocation after the other. The only id is enough for
/// all attempts.
void try_without_memory(const std::string& address, double timeout) {
  const lone_runtime caller(1);
  for (int good = 0;; ++good) {
    CAPTURE(good);
    REQUIRE(good < 2000);
    std::string what = "nothing was thrown";
    {
      const failing_memory once(0, good, 1);
      try {
        lci::connect_x(address).timeout(timeout).runtime(caller.handle)();
      } catch (const std::exception& e) {
        const char* const text = e.what();
        what.assign(text, std::char_traits<char>::length(text) < 15 ? std::char_traits<char>::length(text) : 0);
        if (std::string_view(text).find("in use") != std::string_view::npos) what = "no id";
      }
    }
    REQUIRE(what != "no id");
    REQUIRE(what != "nothing was thrown");
    for (int i = 0; i < 3; ++i) lci::progress_x().runtime(caller.handle)();
    if (failing_memory::failures() == 0) return;
  }
}

struct counting_device : net::outside_device {
  explicit counting_device(int& n) : registrations(n) {}
  lci::errorcode_t post(const net::net_op&) override { return lci::errorcode_t::fatal; }
  int poll(net::event_sink&, int) override { return 0; }
  void wait(int64_t) override {}
  net::registration register_memory(void*, size_t) override {
    return ++registrations, net::registration{1, 1, nullptr};
  }
  void deregister_memory(const net::registration&) override { --registrations; }
  void adopt_registration(uint64_t, void*, size_t) override { throw std::bad_alloc(); }
  void drop_registration(uint64_t) override {}
  int& registrations;
};

}  // namespace

TEST_CASE("peer ids can be retired without memory") {
  constexpr int n = 3000;
  const lone_runtime rt(n);
  lci::core::external_peers& ids = *rt.handle.p_impl->external_peers;
  for (int i = 0; i < n; ++i) REQUIRE(ids.admit() == ids.first() + i);
  REQUIRE(ids.admit() == -1);
  {
    const failing_memory none;
    for (int i = 0; i < n; i += 2) ids.retire(ids.first() + i, net::departure::left);
    for (int i = 1; i < n; i += 2) ids.retire(ids.first() + i, net::departure::disconnected);
    // The program releases two ids of peers that have left: the oldest, and the newest.
    ids.retire(ids.first(), net::departure::disconnected);
    ids.retire(ids.first() + n - 2, net::departure::disconnected);
  }
  // First the returned ones, the oldest first, then those of peers that have left.
  for (int i = 1; i < n; i += 2) REQUIRE(ids.admit() == ids.first() + i);
  REQUIRE(ids.admit() == ids.first());
  REQUIRE(ids.admit() == ids.first() + n - 2);
  for (int i = 2; i < n - 2; i += 2) REQUIRE(ids.admit() == ids.first() + i);
  REQUIRE(ids.admit() == -1);
  for (int i = 0; i < n; ++i) ids.retire(ids.first() + i, net::departure::disconnected);
}

TEST_CASE("a connect() without memory takes no id") {
  SECTION("over TCP") { try_without_memory("tcp://127.0.0.1:1", 5); }
  SECTION("over shared memory") {
    const lone_runtime callee(1);  // makes no progress, so it does not answer
    try_without_memory(lci::get_address_x().runtime(callee.handle)(), 0);
  }
}

TEST_CASE("memory that can't be registered for peers outside of the job is not registered for the job either") {
  int near = 0, far = 0;
  const net::routed::with_outside both(nullptr, nullptr);
  net::routed::with_outside_device device(both, std::make_unique<counting_device>(near),
                                          std::make_unique<counting_device>(far));
  char byte = 0;
  CHECK_THROWS_AS(device.register_memory(&byte, 1), std::bad_alloc);
  CHECK(near == 0);
}

TEST_CASE("a runtime for whose entry in the list of runtimes there is no memory leaves nothing open") {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  std::vector<std::unique_ptr<lone_runtime>> others;
  for (const size_t n : {1, 2, 4, 8}) {  // with some of these numbers, the list is full
    while (others.size() < n) others.push_back(std::make_unique<lone_runtime>(1));
    for (int good = 0;; ++good) {
      CAPTURE(n, good);
      REQUIRE(good < 500);
      const auto before = open_descriptors();
      std::optional<lone_runtime> one_more;
      try {
        const failing_memory twice_as_long(2 * n * sizeof(void*), good, 1, 2 * n * sizeof(void*));
        one_more.emplace(1);
      } catch (const std::exception&) {
      }
      one_more.reset();
      REQUIRE(open_descriptors() == before);
      if (failing_memory::failures() == 0) break;
    }
  }
}
