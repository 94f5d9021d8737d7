// Codecs of numbers, enumerations and structs. They produce the same bytes as HG's routines for the corresponding C
// types, so programs of both interfaces can call each other.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "lci/rpc/buffers.hpp"

namespace lci::rpc {

/// The encoding of a type. Specialize it for a type that has none: write() appends a value, read() decodes one, name()
/// appends the type's name in signatures; `least` is the smallest number of bytes of an encoded value.
template <class T, class = void>
struct codec {
  static constexpr bool is_missing = true;
};

/// An archive for serialize(archive) that collects the names of the fields' types.
class type_namer {
 public:
  explicit type_namer(std::string& to) : to_(to) {}
  template <class... T>
  type_namer& operator()(const T&...) {
    (add<T>(), ...);
    return *this;
  }
  template <class T>
  type_namer& operator&(const T& value) {
    return (*this)(value);
  }

 private:
  template <class T>
  void add() {
    if (!is_first_) to_ += ", ";
    is_first_ = false;
    codec<T>::name(to_);
  }
  std::string& to_;
  bool is_first_ = true;
};

namespace detail {

template <class T, class = void>
struct has_codec : std::true_type {};
template <class T>
struct has_codec<T, std::enable_if_t<codec<T>::is_missing>> : std::false_type {};

template <class T, class = void>
struct has_member_visitor : std::false_type {};
template <class T>
struct has_member_visitor<T, std::void_t<decltype(std::declval<T&>().serialize(std::declval<type_namer&>()))>>
    : std::true_type {};
template <class T, class = void>
struct has_free_visitor : std::false_type {};
template <class T>
struct has_free_visitor<T, std::void_t<decltype(serialize(std::declval<type_namer&>(), std::declval<T&>()))>>
    : std::true_type {};
template <class T>
constexpr bool has_visitor = has_member_visitor<T>::value || has_free_visitor<T>::value;

template <class Archive, class T>
void visit(Archive& archive, T& value) {
  if constexpr (has_member_visitor<T>::value) {
    value.serialize(archive);
  } else {
    serialize(archive, value);
  }
}

template <class T>
constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
/// Types of the standard library that have their own codecs although they are, or may be, trivially copyable.
template <class T>
struct is_known : std::false_type {};
template <class T>
constexpr bool is_raw = std::is_trivially_copyable_v<T>&& std::is_class_v<T> && !has_visitor<T> && !is_known<T>::value;
/// Returns whether an array of T is encoded as the array's bytes.
template <class T>
constexpr bool is_block = is_number<T> || std::is_enum_v<T>;

}  // namespace detail

/// Encoded as by hg_proc_int8_t() to hg_proc_uint64_t(); float and double as by hg_proc_raw().
template <class T>
struct codec<T, std::enable_if_t<detail::is_number<T>>> {
  static constexpr size_t least = sizeof(T);
  static void write(writer& w, T value) { w.raw(value); }
  static T read(reader& r) { return r.raw<T>(); }
  static void name(std::string& to) {
    to += std::is_floating_point_v<T> ? "float" : std::is_signed_v<T> ? "int" : "uint";
    to += std::to_string(sizeof(T) * 8);
  }
};

/// Encoded as by hg_proc_hg_bool_t().
template <>
struct codec<bool> {
  static constexpr size_t least = 1;
  static void write(writer& w, bool value) { w.raw(static_cast<uint8_t>(value)); }
  static bool read(reader& r) { return r.raw<uint8_t>() != 0; }
  static void name(std::string& to) { to += "bool"; }
};

/// Encoded as its underlying type.
template <class T>
struct codec<T, std::enable_if_t<std::is_enum_v<T>>> {
  using number = std::underlying_type_t<T>;
  static constexpr size_t least = sizeof(T);
  static void write(writer& w, T value) { codec<number>::write(w, static_cast<number>(value)); }
  static T read(reader& r) { return static_cast<T>(codec<number>::read(r)); }
  static void name(std::string& to) { codec<number>::name(to); }
};

/// A struct with a member `template <class A> void serialize(A& archive) { archive(a, b); }`, or with a function
/// serialize(archive, value) in its namespace. Encoded as its fields, like a struct of MERCURY_GEN_PROC. Needs a
/// default constructor and at least one field. May contain values of its own type, nested reader::deepest times.
template <class T>
struct codec<T, std::enable_if_t<detail::has_visitor<T>>> {
  static constexpr size_t least = 1;
  static void write(writer& w, const T& value) {
    detail::visit(w, const_cast<T&>(value));  // a writer takes fields by const reference
  }
  static T read(reader& r) {
    const reader::nested inside(r);
    T value{};
    detail::visit(r, value);
    return value;
  }
  static void name(std::string& to) {
    static thread_local bool is_inside = false;  // ends the recursion for a type that contains itself
    if (is_inside) {
      to += "{...}";
      return;
    }
    is_inside = true;
    T value{};
    to += '{';
    type_namer namer(to);
    detail::visit(namer, value);
    to += '}';
    is_inside = false;
  }
};

/// Other trivially copyable structs, which must not contain pointers. Encoded as their bytes, including padding, as by
/// hg_proc_raw().
template <class T>
struct codec<T, std::enable_if_t<detail::is_raw<T>>> {
  static constexpr size_t least = sizeof(T);
  static void write(writer& w, const T& value) { w.raw(value); }
  static T read(reader& r) {
    alignas(T) unsigned char bytes[sizeof(T)];  // T may have no default constructor
    r.bytes(bytes, sizeof bytes);
    return *std::launder(reinterpret_cast<T*>(bytes));
  }
  static void name(std::string& to) { to += "raw[" + std::to_string(sizeof(T)) + "]"; }
};

template <class... T>
writer& writer::operator()(const T&... values) {
  (codec<T>::write(*this, values), ...);
  return *this;
}
template <class... T>
reader& reader::operator()(T&... values) {
  ((values = codec<T>::read(*this)), ...);
  return *this;
}

}  // namespace lci::rpc
