// Strings, sequences, sets, maps and views as arguments and results.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lci/rpc/codec.hpp"

#if __cplusplus >= 202002L
#include <span>
#endif

namespace lci::rpc {

/// A non-owning view of elements, as std::span<const T> of C++20, which may be used instead. As a parameter of a
/// function it refers to the message, and is valid until the function returns (a coroutine: until it ends).
template <class T>
class view {
 public:
  using value_type = std::remove_const_t<T>;
  constexpr view() = default;
  constexpr view(const T* data, size_t size) : data_(data), size_(size) {}
  template <class C,
            class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<const C&>().data()), const T*>>>
  constexpr view(const C& c) : data_(c.data()), size_(c.size()) {}  // NOLINT: implicit on purpose

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

namespace detail {

/// Types that do not own their elements. They may be parameters, but not results.
template <class T>
struct is_view : std::false_type {};
template <class T>
struct is_view<view<T>> : std::true_type {};
template <>
struct is_view<std::string_view> : std::true_type {};
template <class T>
struct is_known<view<T>> : std::true_type {};
template <>
struct is_known<std::string_view> : std::true_type {};
template <class T, size_t n>
struct is_known<std::array<T, n>> : std::true_type {};

/// Encoded as hg_string_t: the length including a final 0, then the bytes including it. NULL of HG has length 0 and is
/// decoded as an empty string.
struct string_codec {
  static constexpr size_t least = sizeof(uint64_t);
  static void write(writer& w, std::string_view s) {
    w.raw(static_cast<uint64_t>(s.size() + 1));
    w.block(s.data(), s.size());
    w.raw('\0');
  }
  static std::string_view read_view(reader& r) {
    const size_t n = r.count(1);
    if (n == 0) return {};
    const char* const from = r.take(n);
    if (from[n - 1] != 0) throw_bad_message("a string does not end with a 0");
    return {from, n - 1};
  }
  static void name(std::string& to) { to += "string"; }
};

/// Encoded as the number of elements (uint64_t) and the elements.
template <class C, class T>
struct sequence_codec {
  static constexpr size_t least = sizeof(uint64_t);
  static void write(writer& w, const C& c) {
    w.raw(static_cast<uint64_t>(c.size()));
    for (const auto& element : c) codec<T>::write(w, element);
  }
  static void name(std::string& to) {
    to += "list<";
    codec<T>::name(to);
    to += '>';
  }
};

/// The same for containers whose elements are contiguous.
template <class T>
struct block_codec {
  static constexpr size_t least = sizeof(uint64_t);
  static void write(writer& w, const T* data, size_t n) {
    w.raw(static_cast<uint64_t>(n));
    if constexpr (is_block<T> || is_raw<T>) {
      w.block(data, n * sizeof(T));
    } else {
      for (size_t i = 0; i < n; ++i) codec<T>::write(w, data[i]);
    }
  }
  static view<T> read_view(reader& r) {
    static_assert(is_block<T> || is_raw<T>,
                  "rpc: the elements of a view must be numbers, enumerations or trivially copyable structs: take a "
                  "std::vector instead");
    const size_t n = r.count(sizeof(T));
    const char* from = r.take(n * sizeof(T));
    if (reinterpret_cast<uintptr_t>(from) % alignof(T) != 0) {
      void* const aligned = r.keep(n * sizeof(T));
      std::memcpy(aligned, from, n * sizeof(T));
      from = static_cast<const char*>(aligned);
    }
    return {reinterpret_cast<const T*>(from), n};
  }
  static void name(std::string& to) { sequence_codec<view<T>, T>::name(to); }
};

/// Sets and maps.
template <class C, class T>
struct inserted_codec : sequence_codec<C, T> {
  static C read(reader& r) {
    C c;
    for (size_t n = r.count(codec<T>::least); n > 0; --n) c.insert(codec<T>::read(r));
    return c;
  }
};
template <class C, class K, class V>
struct map_codec {
  static constexpr size_t least = sizeof(uint64_t);
  static void write(writer& w, const C& c) {
    w.raw(static_cast<uint64_t>(c.size()));
    for (const auto& [key, value] : c) {
      codec<K>::write(w, key);
      codec<V>::write(w, value);
    }
  }
  static C read(reader& r) {
    C c;
    for (size_t n = r.count(codec<K>::least + codec<V>::least); n > 0; --n) {
      K key = codec<K>::read(r);
      c.emplace(std::move(key), codec<V>::read(r));
    }
    return c;
  }
  static void name(std::string& to) {
    to += "map<";
    codec<K>::name(to);
    to += ", ";
    codec<V>::name(to);
    to += '>';
  }
};
template <class C, class T>
struct appended_codec : sequence_codec<C, T> {
  static C read(reader& r) {
    C c;
    for (size_t n = r.count(codec<T>::least); n > 0; --n) c.push_back(codec<T>::read(r));
    return c;
  }
};

}  // namespace detail

template <>
struct codec<std::string> : detail::string_codec {
  static std::string read(reader& r) { return std::string(read_view(r)); }
};
template <>
struct codec<std::string_view> : detail::string_codec {
  static std::string_view read(reader& r) { return read_view(r); }
};

template <class T, class A>
struct codec<std::vector<T, A>> : detail::block_codec<T> {
  static void write(writer& w, const std::vector<T, A>& v) { detail::block_codec<T>::write(w, v.data(), v.size()); }
  static std::vector<T, A> read(reader& r) {
    std::vector<T, A> v;
    if constexpr (detail::is_block<T> || (detail::is_raw<T> && std::is_default_constructible_v<T>)) {
      const size_t n = r.count(sizeof(T));
      const char* const from = r.take(n * sizeof(T));
      v.resize(n);
      if (n > 0) std::memcpy(static_cast<void*>(v.data()), from, n * sizeof(T));
    } else {
      const size_t n = r.count(codec<T>::least);
      // Decoded elements may be larger than encoded ones, so reserve at most about the size of the message.
      v.reserve(std::min(n, r.left() / sizeof(T) + 1));
      for (size_t i = 0; i < n; ++i) v.push_back(codec<T>::read(r));
    }
    return v;
  }
};
template <class A>
struct codec<std::vector<bool, A>> : detail::appended_codec<std::vector<bool, A>, bool> {};
template <class T>
struct codec<view<T>> : detail::block_codec<T> {
  static void write(writer& w, view<T> v) { detail::block_codec<T>::write(w, v.data(), v.size()); }
  static view<T> read(reader& r) { return detail::block_codec<T>::read_view(r); }
};
template <class T, class A>
struct codec<std::deque<T, A>> : detail::appended_codec<std::deque<T, A>, T> {};
template <class T, class A>
struct codec<std::list<T, A>> : detail::appended_codec<std::list<T, A>, T> {};
template <class T, class L, class A>
struct codec<std::set<T, L, A>> : detail::inserted_codec<std::set<T, L, A>, T> {};
template <class T, class L, class A>
struct codec<std::multiset<T, L, A>> : detail::inserted_codec<std::multiset<T, L, A>, T> {};
template <class T, class H, class E, class A>
struct codec<std::unordered_set<T, H, E, A>> : detail::inserted_codec<std::unordered_set<T, H, E, A>, T> {};
template <class K, class V, class L, class A>
struct codec<std::map<K, V, L, A>> : detail::map_codec<std::map<K, V, L, A>, K, V> {};
template <class K, class V, class L, class A>
struct codec<std::multimap<K, V, L, A>> : detail::map_codec<std::multimap<K, V, L, A>, K, V> {};
template <class K, class V, class H, class E, class A>
struct codec<std::unordered_map<K, V, H, E, A>> : detail::map_codec<std::unordered_map<K, V, H, E, A>, K, V> {};

/// Encoded as the elements, without their number.
template <class T, size_t n>
struct codec<std::array<T, n>> {
  static constexpr size_t least = n * codec<T>::least;
  static void write(writer& w, const std::array<T, n>& a) {
    for (const T& element : a) codec<T>::write(w, element);
  }
  static std::array<T, n> read(reader& r) {
    std::array<T, n> a{};
    for (T& element : a) element = codec<T>::read(r);
    return a;
  }
  static void name(std::string& to) {
    codec<T>::name(to);
    to += "[" + std::to_string(n) + "]";
  }
};

#if __cplusplus >= 202002L
namespace detail {
template <class T>
struct is_view<std::span<T>> : std::true_type {};
template <class T>
struct is_known<std::span<T>> : std::true_type {};
}  // namespace detail
/// Encoded as view<T>.
template <class T>
struct codec<std::span<const T>> : codec<view<T>> {
  static void write(writer& w, std::span<const T> s) { detail::block_codec<T>::write(w, s.data(), s.size()); }
  static std::span<const T> read(reader& r) {
    const view<T> v = codec<view<T>>::read(r);
    return {v.data(), v.size()};
  }
};
#endif

}  // namespace lci::rpc
