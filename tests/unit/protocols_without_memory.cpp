// Without memory for the measurements of a rank, messages go by rendezvous; with memory again, they are measured.
#include <catch2/catch.hpp>

#include "lib/core/transfer/protocol_table.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/unit/network_of_limits.hpp"

TEST_CASE("without memory for its measurements, a message goes by rendezvous", "[unit][memory][protocols]") {
  lci::core::protocol_table table(2);
  table.begin_at(25'000, 24'999);
  const lci_test::network_of_limits net{size_t{128} << 10};
  {
    const lci_test::failing_memory once(0, 0, 1);
    CHECK_FALSE(table.is_eager(net, 1, 50'000));
  }
  CHECK_FALSE(table.begins_rendezvous(1, 50'000));
  CHECK(table.is_eager(net, 1, 50'000));
  CHECK(table.begins_rendezvous(1, 50'000));
}
