// Collective operations that fail for lack of memory leave nothing behind, and succeed when there is memory again.
#include <exception>
#include <set>
#include <stdexcept>

#include "lib/core/device/device.hpp"
#include "lib/core/device/kept_exceptions.hpp"
#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

/// Calls `f`, whose allocations fail one after the other, until it succeeds. Returns how often it has failed.
template <class F>
int failures_before_success(F f) {
  for (int good = 0;; ++good) {
    REQUIRE(good < 10'000);
    try {
      const failing_memory once(0, good, 1);
      f();
      return good;
    } catch (const lci::resource_error&) {
    }
  }
}

}  // namespace

TEST_CASE("symmetric memory that can't be allocated leaves no part behind") {
  small_job job(1);
  constexpr size_t size = 1 << 20;
  const auto alloc = [&] { return lci::alloc_symmetric_x(size).runtime(job[0])(); };
  const auto address_of_next = [&] {
    lci::mr_t mr = lci::alloc_shared_x(size).runtime(job[0])();
    void* const base = lci::get_mr_base(mr);
    lci::free_shared_x(&mr).runtime(job[0])();
    return base;
  };
  lci::symmetric_t memory = alloc();
  lci::free_symmetric_x(&memory).runtime(job[0])();
  void* const before = address_of_next();
  CHECK(failures_before_success([&] { memory = alloc(); }) > 5);
  CHECK(lci::get_symmetric_address_x(memory, 0)() != nullptr);
  lci::free_symmetric_x(&memory).runtime(job[0])();
  CHECK(address_of_next() == before);
}

TEST_CASE("memory that can't be published stays unpublished, and can be deregistered") {
  small_job job(1);
  std::vector<char> buffer(5000);
  lci::mr_t mr = lci::register_memory_x(buffer.data(), buffer.size()).runtime(job[0])();
  lci::core::device& d = *lci::get_default_device_x().runtime(job[0])().p_impl;
  lci::publication_t publication;
  CHECK(failures_before_success([&] {
          CHECK(d.published.empty());
          publication = lci::publish_memory_x(mr).runtime(job[0])();
        }) > 5);
  CHECK_FALSE(d.published.empty());
  lci::unpublish_memory_x(&publication).runtime(job[0])();
  lci::deregister_memory_x(&mr).runtime(job[0])();
}

TEST_CASE("what progress() throws during a collective operation is thrown later, also if there was no memory") {
  small_job job(1);
  const auto progress = [&] { return lci::progress_x().runtime(job[0])(); };
  constexpr int n = 8;
  {
    lci::core::device& d = *lci::get_default_device_x().runtime(job[0])().p_impl;
    const std::exception_ptr thrown = std::make_exception_ptr(std::runtime_error("a message is lost"));
    const failing_memory all;
    lci::core::exceptions_for_later later(d);
    for (int i = 0; i < n; ++i) later.keep(thrown);
  }
  for (int i = 0; i < n; ++i) CHECK_THROWS_WITH(progress(), "a message is lost");
  CHECK_NOTHROW(progress());
}
