// Environment variables that LCI sets for libfabric are not visible to the program.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "network/ofi/extended_environment.hpp"
#include "network/ofi/library.hpp"

using lci::network::ofi::extended_environment;
using lci::network::ofi::library;

namespace {

std::vector<std::string> variables() {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

std::string value(const char* name) {
  const char* found = std::getenv(name);
  return found == nullptr ? "none" : found;
}

}  // namespace

TEST_CASE("ofi: the program's environment is unchanged after libfabric has read ours") {
  char** const list = environ;
  const std::vector<std::string> before = variables();
  {
    const auto settings = library::settings();
    CHECK(value("FI_OFI_RXM_USE_SRX") != "none");
    CHECK(value("FI_OFI_RXM_MSG_RX_SIZE") != "none");
  }
  CHECK(library::get().missing.empty());
  CHECK(environ == list);
  CHECK(variables() == before);
}

TEST_CASE("ofi: the program's variables take precedence, and may change between two windows") {
  static extended_environment& ours = *new extended_environment({"LCI_X_ONE=ours", "LCI_X_TWO=ours", "LCI_X=3"});
  REQUIRE(setenv("LCI_X_ONE", "the program's", 1) == 0);
  for (int round = 0; round < 3; ++round) {
    {
      const extended_environment::window outer(ours);
      const extended_environment::window inner(ours);
      CHECK(value("LCI_X_ONE") == "the program's");
      CHECK(value("LCI_X_TWO") == "ours");
      CHECK(value("LCI_X") == "3");
    }
    CHECK(value("LCI_X_ONE") == "the program's");
    CHECK(value("LCI_X_TWO") == "none");
  }
  REQUIRE(setenv("LCI_X_TWO", "later", 1) == 0);
  REQUIRE(unsetenv("LCI_X_ONE") == 0);
  {
    const extended_environment::window window(ours);
    CHECK(value("LCI_X_ONE") == "ours");
    CHECK(value("LCI_X_TWO") == "later");
  }
  REQUIRE(unsetenv("LCI_X_TWO") == 0);
  CHECK(value("LCI_X_ONE") == "none");
  CHECK(value("LCI_X") == "none");
}

TEST_CASE("ofi: other threads find their variables at any time, and end their windows in any order") {
  static extended_environment& ours = *new extended_environment({"LCI_X_ONE=ours"});
  REQUIRE(setenv("LCI_X_OWN", "the program's", 1) == 0);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) wrong += value("LCI_X_OWN") != "the program's";
  });
  std::vector<std::thread> openers;
  for (int i = 0; i < 3; ++i)
    openers.emplace_back([&] {
      for (int round = 0; round < 3000; ++round) {
        const extended_environment::window window(ours);
        wrong += value("LCI_X_ONE") != "ours";
      }
    });
  for (auto& each : openers) each.join();
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  CHECK(wrong.load() == 0);
  CHECK(value("LCI_X_ONE") == "none");
  REQUIRE(unsetenv("LCI_X_OWN") == 0);
}
