#include "lib/layers/armci/reduction.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "armci/armci_types.h"

namespace armci_layer {

namespace {

/// Elements may have any alignment.
template <class T, class F>
void each(void* into, const void* other, size_t n, F f) {
  auto* a = static_cast<char*>(into);
  const auto* b = static_cast<const char*>(other);
  for (size_t i = 0; i < n; ++i, a += sizeof(T), b += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    x = static_cast<T>(f(x, y));
    std::memcpy(a, &x, sizeof x);
  }
}

// Integers wrap around.
template <class T>
T magnitude(T x) {
  if constexpr (std::is_integral_v<T>)
    return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
  else
    return x < 0 ? -x : x;
}
template <class T>
void take_magnitudes(void* x, size_t n) {
  each<T>(x, x, n, [](T a, T) { return magnitude(a); });
}
/// So that the result of a logical operator is 0 or 1 also where one process is alone.
template <class T>
void take_truths(void* x, size_t n) {
  each<T>(x, x, n, [](T a, T) { return a != 0; });
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}
template <class T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) * static_cast<std::make_unsigned_t<T>>(b));
  else
    return a * b;
}

template <class T>
std::optional<combination> of(std::string_view op) {
  using c = combination;
  constexpr size_t size = sizeof(T);
  if (op == "+") return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, sum<T>); }};
  if (op == "*") return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, product<T>); }};
  const auto max = [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return x < y ? y : x; }); };
  const auto min = [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return y < x ? y : x; }); };
  if (op == "absmax") return c{size, max, take_magnitudes<T>};
  if (op == "absmin") return c{size, min, take_magnitudes<T>};
  if (op == "max") return c{size, max};
  if (op == "min") return c{size, min};
  if constexpr (std::is_integral_v<T>) {
    if (op == "&&" || op == "land")
      return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return x && y; }); },
               take_truths<T>};
    if (op == "||" || op == "lor")
      return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return x || y; }); },
               take_truths<T>};
    if (op == "&" || op == "band")
      return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return x & y; }); }};
    if (op == "|" || op == "bor" || op == "or")
      return c{size, [](void* a, const void* b, size_t n) { each<T>(a, b, n, [](T x, T y) { return x | y; }); }};
  }
  return {};
}

template <class T>
int compare_as(const void* a, const void* b) {
  T x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  return x < y ? -1 : y < x ? 1 : 0;
}

}  // namespace

std::string_view operator_of(const char* op) {
  // Longer names before those with which they begin.
  constexpr std::string_view names[] = {"absmax", "absmin", "land", "band", "max", "min", "lor", "bor",
                                        "&&",     "||",     "or",   "&",    "|",   "+",   "*"};
  if (op == nullptr) return {};
  for (const std::string_view name : names)
    if (std::strncmp(op, name.data(), name.size()) == 0) return name;
  return {};
}

std::optional<combination> find_combination(std::string_view op, int type) {
  switch (type) {
    case ARMCI_INT:
      return of<int>(op);
    case ARMCI_LONG:
      return of<long>(op);
    case ARMCI_LONG_LONG:
      return of<long long>(op);
    case ARMCI_FLOAT:
      return of<float>(op);
    case ARMCI_DOUBLE:
      return of<double>(op);
    default:
      return {};
  }
}

size_t size_of_type(int type) {
  const auto sum = find_combination("+", type);
  return sum ? sum->size : 0;
}

int compare(int type, const void* a, const void* b) {
  switch (type) {
    case ARMCI_INT:
      return compare_as<int>(a, b);
    case ARMCI_LONG:
      return compare_as<long>(a, b);
    case ARMCI_LONG_LONG:
      return compare_as<long long>(a, b);
    case ARMCI_FLOAT:
      return compare_as<float>(a, b);
    default:
      return compare_as<double>(a, b);
  }
}

}  // namespace armci_layer
