// Values of all kinds are decoded as they were encoded, and their encoding equals that of HG's routines.
#include <mercury_proc_string.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <span>

#include "lci/rpc.hpp"

using namespace lci;

namespace {

struct plain {
  int32_t a;
  double b;
  bool operator==(const plain&) const = default;
};
struct visited {
  std::string name;
  std::vector<int> numbers;
  std::optional<plain> maybe;
  template <class A>
  void serialize(A& archive) {
    archive(name, numbers, maybe);
  }
  bool operator==(const visited&) const = default;
};
struct beside {
  int64_t x = 0;
  std::string y;
  bool operator==(const beside&) const = default;
};
template <class A>
void serialize(A& archive, beside& b) {
  archive& b.x& b.y;
}
enum class color : uint8_t { red, green };
struct tree {
  int value = 0;
  std::vector<tree> children;
  template <class A>
  void serialize(A& archive) {
    archive(value, children);
  }
  bool operator==(const tree&) const = default;
};

template <class T>
std::string encoded(const T& value) {
  char room[64];  // smaller than most values, so that the writer moves to its own memory
  rpc::writer w(room, sizeof room, false, {});
  rpc::codec<T>::write(w, value);
  return {w.data(), w.used()};
}

template <class T>
T round_trip(const T& value) {
  const std::string bytes = encoded(value);
  rpc::reader r(bytes.data(), bytes.size(), {});
  T result = rpc::codec<T>::read(r);
  CHECK(r.left() == 0);
  // Each truncation of the message is refused.
  for (size_t n = 0; n < bytes.size(); ++n) {
    const std::string cut = bytes.substr(0, n);
    rpc::reader short_one(cut.data(), cut.size(), {});
    CHECK_THROWS_AS(rpc::codec<T>::read(short_one), rpc::message_error);
  }
  return result;
}

template <class Signature>
struct text;
template <class R, class... A>
struct text<R(A...)> {
  static std::string of() { return rpc::detail::signature<R, A...>::text().text; }
};

}  // namespace

TEST_CASE("values of every kind are decoded as they were encoded, and truncated ones are refused") {
  CHECK(round_trip(int8_t{-3}) == -3);
  CHECK(round_trip(UINT64_MAX) == UINT64_MAX);
  CHECK(round_trip(2.5f) == 2.5f);
  CHECK(round_trip(true));
  CHECK(round_trip(color::green) == color::green);
  CHECK(round_trip(plain{7, 1.5}) == plain{7, 1.5});
  CHECK(round_trip(std::string()).empty());
  CHECK(round_trip(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(round_trip(std::vector<double>(100, 0.5)) == std::vector<double>(100, 0.5));
  CHECK(round_trip(std::vector<std::string>{"x", "", "yy"}) == std::vector<std::string>{"x", "", "yy"});
  CHECK(round_trip(std::vector<bool>{true, false, true}) == std::vector<bool>{true, false, true});
  CHECK(round_trip(std::vector<plain>{{1, 2}, {3, 4}}) == std::vector<plain>{{1, 2}, {3, 4}});
  CHECK(round_trip(std::deque<int>{1, 2}) == std::deque<int>{1, 2});
  CHECK(round_trip(std::list<int>{1, 2}) == std::list<int>{1, 2});
  CHECK(round_trip(std::set<std::string>{"a", "b"}) == std::set<std::string>{"a", "b"});
  CHECK(round_trip(std::map<std::string, int>{{"a", 1}, {"b", 2}}) == std::map<std::string, int>{{"a", 1}, {"b", 2}});
  CHECK(round_trip(std::unordered_map<int, std::string>{{1, "a"}}) == std::unordered_map<int, std::string>{{1, "a"}});
  CHECK(round_trip(std::unordered_set<int>{4, 5}) == std::unordered_set<int>{4, 5});
  CHECK(round_trip(std::array<int, 3>{1, 2, 3}) == std::array<int, 3>{1, 2, 3});
  CHECK(round_trip(std::optional<int>()) == std::nullopt);
  CHECK(round_trip(std::optional<std::string>("x")) == "x");
  using choice = std::variant<std::monostate, int, std::string>;
  CHECK(round_trip(choice()) == choice());
  CHECK(round_trip(choice(5)) == choice(5));
  CHECK(round_trip(choice("text")) == choice("text"));
  CHECK(round_trip(std::tuple<int, std::string>(1, "a")) == std::tuple<int, std::string>(1, "a"));
  CHECK(round_trip(std::pair<int, double>(1, 2.5)) == std::pair<int, double>(1, 2.5));
  const visited v{"name", {1, 2, 3}, plain{1, 2}};
  CHECK(round_trip(v) == v);
  CHECK(round_trip(beside{5, "y"}) == beside{5, "y"});
  CHECK(round_trip(std::chrono::milliseconds(50)) == std::chrono::milliseconds(50));
}

TEST_CASE("views refer to the message, or to a copy if it is not aligned") {
  char room[128];
  for (size_t shift : {0, 1}) {
    rpc::writer w(room, sizeof room, false, {});
    w.skip(shift);
    const std::vector<double> numbers{1, 2, 3};
    rpc::codec<rpc::view<double>>::write(w, numbers);
    rpc::reader r(room + shift, w.used() - shift, {});
    const std::span<const double> s = rpc::codec<std::span<const double>>::read(r);
    CHECK(std::vector<double>(s.begin(), s.end()) == numbers);
    CHECK(reinterpret_cast<uintptr_t>(s.data()) % alignof(double) == 0);
  }
}

TEST_CASE("lengths from a message are not trusted") {
  const uint64_t huge = uint64_t{1} << 60;
  std::string bytes(reinterpret_cast<const char*>(&huge), sizeof huge);
  bytes += std::string(100, 'x');
  const auto refused = [&](auto t) {
    rpc::reader r(bytes.data(), bytes.size(), {});
    CHECK_THROWS_AS(rpc::codec<decltype(t)>::read(r), rpc::message_error);
  };
  refused(std::string());
  refused(std::vector<int>());
  refused(std::vector<std::string>());
  refused(std::map<int, int>());
  refused(std::list<double>());
  refused(rpc::view<int>());
  const uint32_t alternative = 7;
  rpc::reader r(reinterpret_cast<const char*>(&alternative), sizeof alternative, {});
  CHECK_THROWS_AS((rpc::codec<std::variant<int, float>>::read(r)), rpc::message_error);
  const std::string unterminated("\2\0\0\0\0\0\0\0ab", 10);
  rpc::reader s(unterminated.data(), unterminated.size(), {});
  CHECK_THROWS_AS(rpc::codec<std::string>::read(s), rpc::message_error);
}

TEST_CASE("the encoding equals that of HG's routines") {
  const auto by_hg = [](auto routine, auto value) {
    char buffer[256];
    hg_proc_t proc = nullptr;
    REQUIRE(hg_proc_create(buffer, sizeof buffer, HG_ENCODE, HG_NOHASH, &proc) == HG_SUCCESS);
    REQUIRE(routine(proc, &value) == HG_SUCCESS);
    std::string bytes(buffer, sizeof buffer - hg_proc_get_size_left(proc));
    hg_proc_free(proc);
    return bytes;
  };
  CHECK(by_hg(hg_proc_hg_int32_t, int32_t{-5}) == encoded(int32_t{-5}));
  CHECK(by_hg(hg_proc_hg_uint64_t, uint64_t{1} << 50) == encoded(uint64_t{1} << 50));
  CHECK(by_hg(hg_proc_hg_uint8_t, hg_bool_t{1}) == encoded(true));
  CHECK(by_hg(hg_proc_hg_const_string_t, static_cast<const char*>("text")) == encoded(std::string("text")));
  CHECK(by_hg(hg_proc_hg_const_string_t, static_cast<const char*>("")) == encoded(std::string()));
  const std::string null = by_hg(hg_proc_hg_const_string_t, static_cast<const char*>(nullptr));
  rpc::reader r(null.data(), null.size(), {});
  CHECK(rpc::codec<std::string>::read(r).empty());
}

TEST_CASE("a recursive value is encoded") {
  const tree t{1, {{2, {}}, {3, {{4, {}}}}}};
  CHECK(round_trip(t) == t);
  CHECK(text<void(tree)>::of() == "void({int32, list<{...}>})");
}

TEST_CASE("a message can't exhaust the stack by a recursive value") {
  const auto chain = [](int depth) {
    std::string bytes;
    for (int i = 1; i <= depth; ++i) bytes += encoded(i) + encoded(uint64_t{i < depth});
    return bytes;
  };
  const std::string allowed = chain(rpc::reader::deepest), longer = chain(rpc::reader::deepest + 1);
  rpc::reader r(allowed.data(), allowed.size(), {});
  const tree t = rpc::codec<tree>::read(r);
  CHECK(encoded(t) == allowed);
  for (const std::string& bytes : {longer, chain(2'000'000)}) {
    rpc::reader too_deep(bytes.data(), bytes.size(), {});
    CHECK_THROWS_AS(rpc::codec<tree>::read(too_deep), rpc::message_error);
  }
}

TEST_CASE("signatures contain the names of encoded types") {
  CHECK(text<int(const std::string&, int)>::of() == "int32(string, int32)");
  CHECK(text<void()>::of() == "void()");
  CHECK(text<std::vector<plain>(rpc::view<double>, std::map<std::string, bool>)>::of() ==
        "list<raw[16]>(list<float64>, map<string, bool>)");
  CHECK(text<visited(std::optional<color>, std::variant<int, std::string>)>::of() ==
        "{string, list<int32>, optional<raw[16]>}(optional<uint8>, variant<int32, string>)");
  CHECK(text<void(rpc::bulk, std::tuple<int8_t, std::array<char, 4>>)>::of() == "void(bulk, {int8, int8[4]})");
  CHECK(rpc::detail::signature<int, int>::text().hash != rpc::detail::signature<int, unsigned>::text().hash);
}
