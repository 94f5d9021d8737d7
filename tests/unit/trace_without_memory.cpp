// Tracing without memory.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "lib/core/observe/tracer.hpp"
#include "tests/support/failing_memory.hpp"

TEST_CASE("events of a trace for which there is no memory are counted as dropped") {
  using lci_test::failing_memory;
  const std::string prefix = std::filesystem::temp_directory_path() / ("lci-trace-" + std::to_string(getpid()));
  const std::string path = prefix + ".0.json";
  {
    lci::core::tracer trace(prefix, 0, 100);
    const lci::core::trace_event event{lci::core::trace_event::type::progress};
    for (int i = 0; i < 2; ++i) {
      {
        const failing_memory none;
        trace.add(event);  // needs memory for this thread's events, then for more of them
      }
      trace.add(event);
    }
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  CHECK(text.find("\"dropped_events\": 2") != std::string::npos);
}
