// Values for setters: the n-th value of a type differs from all its others and from defaults.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <lci.hpp>

namespace samples {

template <class T>
T sample(int n) {
  if constexpr (std::is_same_v<T, std::string>) {
    return "sample " + std::to_string(n);
  } else if constexpr (std::is_same_v<T, bool>) {
    return n != 0;  // callers give 0 or 1
  } else if constexpr (std::is_same_v<T, lci::status_t>) {
    lci::status_t status(lci::errorcode_t::done);
    status.tag = static_cast<lci::tag_t>(n);
    return status;
  } else if constexpr (std::is_same_v<T, lci::rmr_t>) {
    return {static_cast<uint64_t>(n), 1, 1};
  } else if constexpr (std::is_same_v<T, lci::operation_t>) {
    return {nullptr, static_cast<uint64_t>(n)};
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<uintptr_t>(4096 + 64 * n));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(1000 + n);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(100 + n);
  } else {  // a handle
    return T(reinterpret_cast<typename T::impl_t*>(static_cast<uintptr_t>(4096 + 64 * n)));
  }
}

template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
inline bool same(const char* a, const char* b) { return std::string(a) == b; }
inline bool same(const lci::status_t& a, const lci::status_t& b) { return a.error == b.error && a.tag == b.tag; }

template <class T>
T value_of(T value = T{}) {
  return value;
}

/// Returns whether a setter has returned the functor itself.
template <class Functor>
bool is(const Functor& returned, const Functor& functor) {
  return &returned == &functor;
}

/// What a functor's test has found wrong.
struct findings {
  std::vector<std::string> wrong;
  void expect(bool holds, const char* what) {
    if (!holds) wrong.push_back(what);
  }
};

constexpr size_t up_to_8(size_t n) { return (n + 7) / 8 * 8; }

}  // namespace samples
