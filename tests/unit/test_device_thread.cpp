// Devices whose progress thread can't be started.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <cstddef>
#include <lci.hpp>

TEST_CASE("alloc_device that can't start a progress thread leaves no memory behind", "[unit]") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.progress_thread = lci::progress_mode_t::event;
  attr.progress_cpu = 100000;
  lci::set_g_default_attr(attr);
  lci::runtime_t runtime = lci::alloc_runtime_x().alloc_default_device(false)();
  const auto fail = [&](int times) {
    for (int i = 0; i < times; ++i)
      CHECK_THROWS_AS(lci::alloc_device_x().runtime(runtime).alloc_progress_endpoint(true)(),
                      lci::invalid_argument_error);
  };
  fail(20);
  const size_t used = mallinfo2().uordblks;
  constexpr int times = 200;
  fail(times);
  const size_t grown = mallinfo2().uordblks - used;
  // Two endpoints are larger; tables of devices keep a few bytes for each number.
  CHECK(static_cast<ptrdiff_t>(grown) < times * 80);
  lci::free_runtime(&runtime);
  lci::set_g_default_attr(before);
}
