// For test_summary.py: two cases that pass and one that is skipped, then one that ends the program as the
// environment variable ENDING says.
#include <catch2/catch.hpp>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/support/testing.hpp"

TEST_CASE("first") { CHECK(std::getenv("ENDING") != nullptr); }

TEST_CASE("second") { LCI_SKIP("nothing to see"); }

TEST_CASE("third") { CHECK(std::getenv("NEVER_SET_BY_ANYONE") == nullptr); }

TEST_CASE("the end") {
  const std::string ending = std::getenv("ENDING");
  if (ending == "segmentation fault") std::raise(SIGSEGV);
  if (ending == "kill") std::raise(SIGKILL);
  if (ending == "exit") std::_Exit(3);
  if (ending == "hang") {
    lci_test::time_limit(0);
    std::this_thread::sleep_for(std::chrono::minutes(5));
  }
  CHECK(ending == "well");
}
