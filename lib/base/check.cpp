#include "lib/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace lci {

void throw_invalid(const char* operation, const char* argument, const std::string& value, const std::string& limit,
                   const std::string& remedy) {
  std::string text = std::string(operation) + ": " + argument + " = " + value + ", but must be " + limit;
  if (!remedy.empty()) text += "; " + remedy;
  throw invalid_argument_error(text);
}

void internal_error(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "lci: internal error: %s is false (%s:%d). This is a bug in LCI.\n", expression, file, line);
  std::abort();
}

}  // namespace lci
