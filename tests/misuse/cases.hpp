// Cases of misuse: a call with one invalid argument, and the expected result.
#pragma once

#include <cstddef>

namespace misuse {

struct setting;

/// The expected result.
enum class outcome {
  refused,  ///< the library throws an exception whose text names the argument
  fine,     ///< the argument is valid: the call returns
  either    ///< one of these
};

/// When a case is run: always, or depending on the attribute `check`.
enum class mode { always, checked, unchecked };

struct misuse_case {
  const char* operation;
  const char* argument;  ///< the invalid argument; "" if there is none and the call must be accepted
  const char* value;     ///< its value, in words
  outcome expected;
  mode when;
  void (*run)(setting&);
};

/// Generated from api_dsl/ (codegen/templates/misuse.cpp.j2).
extern const misuse_case cases[];
extern const size_t n_cases;

}  // namespace misuse
