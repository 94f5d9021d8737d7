// Optional values, variants, pairs and tuples as arguments and results.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "lci/rpc/codec.hpp"

namespace lci::rpc {

namespace detail {
template <class T>
struct is_known<std::optional<T>> : std::true_type {};
template <class... T>
struct is_known<std::variant<T...>> : std::true_type {};
template <class... T>
struct is_known<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct is_known<std::pair<A, B>> : std::true_type {};
template <>
struct is_known<std::monostate> : std::true_type {};

template <class... T>
void name_all(std::string& to) {
  bool is_first = true;
  ((to += is_first ? "" : ", ", is_first = false, codec<T>::name(to)), ...);
}
}  // namespace detail

/// Encoded as a bool, which is true if there is a value, and the value.
template <class T>
struct codec<std::optional<T>> {
  static constexpr size_t least = 1;
  static void write(writer& w, const std::optional<T>& value) {
    codec<bool>::write(w, value.has_value());
    if (value) codec<T>::write(w, *value);
  }
  static std::optional<T> read(reader& r) {
    if (!codec<bool>::read(r)) return std::nullopt;
    return codec<T>::read(r);
  }
  static void name(std::string& to) {
    to += "optional<";
    codec<T>::name(to);
    to += '>';
  }
};

template <>
struct codec<std::monostate> {
  static constexpr size_t least = 0;
  static void write(writer&, std::monostate) {}
  static std::monostate read(reader&) { return {}; }
  static void name(std::string& to) { to += "nothing"; }
};

/// Encoded as the alternative's number (uint32_t) and its value.
template <class... T>
struct codec<std::variant<T...>> {
  using value_t = std::variant<T...>;
  static constexpr size_t least = sizeof(uint32_t);
  static void write(writer& w, const value_t& value) {
    if (value.valueless_by_exception()) throw std::bad_variant_access();
    w.raw(static_cast<uint32_t>(value.index()));
    std::visit([&w](const auto& v) { codec<std::decay_t<decltype(v)>>::write(w, v); }, value);
  }
  static value_t read(reader& r) {
    using function = value_t (*)(reader&);
    static constexpr std::array<function, sizeof...(T)> alternatives = make(std::index_sequence_for<T...>());
    const auto i = r.raw<uint32_t>();
    if (i >= sizeof...(T)) detail::throw_bad_message("a variant has no alternative of this number");
    return alternatives[i](r);
  }
  static void name(std::string& to) {
    to += "variant<";
    detail::name_all<T...>(to);
    to += '>';
  }

 private:
  template <size_t i>
  static value_t read_one(reader& r) {
    return value_t(std::in_place_index<i>, codec<std::variant_alternative_t<i, value_t>>::read(r));
  }
  template <size_t... i>
  static constexpr std::array<value_t (*)(reader&), sizeof...(T)> make(std::index_sequence<i...>) {
    return {&read_one<i>...};
  }
};

/// Encoded as the fields of a struct: one value after the other.
template <class... T>
struct codec<std::tuple<T...>> {
  static constexpr size_t least = (size_t{0} + ... + codec<T>::least);
  static void write(writer& w, const std::tuple<T...>& values) {
    std::apply([&w](const T&... v) { (codec<T>::write(w, v), ...); }, values);
  }
  static std::tuple<T...> read(reader& r) {
    return std::tuple<T...>{codec<T>::read(r)...};  // braces evaluate from left to right
  }
  static void name(std::string& to) {
    to += '{';
    detail::name_all<T...>(to);
    to += '}';
  }
};
template <class A, class B>
struct codec<std::pair<A, B>> {
  static constexpr size_t least = codec<A>::least + codec<B>::least;
  static void write(writer& w, const std::pair<A, B>& value) {
    codec<A>::write(w, value.first);
    codec<B>::write(w, value.second);
  }
  static std::pair<A, B> read(reader& r) {
    A first = codec<A>::read(r);
    return {std::move(first), codec<B>::read(r)};
  }
  static void name(std::string& to) { codec<std::tuple<A, B>>::name(to); }
};

}  // namespace lci::rpc
