// One call with one argument that can't be, and what must come of it.
#pragma once

#include <cstddef>

namespace misuse {

struct setting;

/// What is allowed to happen.
enum class outcome {
  refused,  ///< an exception of the library's, whose text names the argument
  fine,     ///< it has a meaning: the call returns
  either    ///< one of the two
};

/// When a case is tried.
enum class mode { always, checked, unchecked };

struct misuse_case {
  const char* operation;
  const char* argument;  ///< that is wrong; "" for none: the call must be accepted
  const char* value;     ///< in words
  outcome expected;
  mode when;
  void (*run)(setting&);
};

/// Generated from api_dsl/ (codegen/templates/misuse.cpp.j2).
extern const misuse_case cases[];
extern const size_t n_cases;

}  // namespace misuse
