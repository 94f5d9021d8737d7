#include "tests/sweep/rank.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>

#include "tests/support/testing.hpp"

namespace sweep {

int me = 0, n_ranks = 1;
board* page = nullptr;

void fail(const char* format, ...) {
  disarm();
  std::array<char, 1000> text;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "SWEEP FAILED: rank %d: %s\n", me, text.data());
  std::fflush(nullptr);
  _exit(1);
}

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

deadline::deadline() : end_(now() + timeout_s * lci_test::time_scale) {}
bool deadline::is_over() const { return now() > end_; }

}  // namespace sweep
