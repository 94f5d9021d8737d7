// A check of exceptions for test programs without Catch2.
#pragma once

namespace test {

/// Returns whether f() throws an E. Other exceptions escape.
template <class E, class F>
bool throws(F f) {
  try {
    f();
  } catch (const E&) {
    return true;
  }
  return false;
}

}  // namespace test
