// A tree of ranges that may overlap gives the same answers as a search through a list.
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "lib/base/interval_tree.hpp"

using lci::interval;
using lci::interval_tree;

namespace {

bool covers(const interval& i, uint64_t begin, uint64_t end) { return i.begin <= begin && i.end >= end; }
bool overlaps(const interval& i, uint64_t begin, uint64_t end) { return i.begin < end && i.end > begin; }

interval range(uint64_t begin, uint64_t end) {
  interval i;
  i.begin = begin;
  i.end = end;
  return i;
}

}  // namespace

TEST_CASE("an empty tree finds nothing, and a range is found by its parts only") {
  interval_tree tree;
  CHECK(tree.empty());
  CHECK(tree.covering(0, ~uint64_t{0}) == nullptr);
  CHECK(tree.overlapping(0, ~uint64_t{0}) == nullptr);
  interval one = range(100, 200);
  tree.insert(one);
  CHECK(tree.covering(100, 200) == &one);
  CHECK(tree.covering(150, 151) == &one);
  CHECK(tree.covering(99, 200) == nullptr);
  CHECK(tree.covering(100, 201) == nullptr);
  CHECK(tree.overlapping(0, 100) == nullptr);
  CHECK(tree.overlapping(0, 101) == &one);
  CHECK(tree.overlapping(199, 300) == &one);
  CHECK(tree.overlapping(200, 300) == nullptr);
  tree.remove(one);
  CHECK(tree.empty());
}

TEST_CASE("equal ranges and ranges within each other are all found") {
  interval_tree tree;
  interval wide = range(0, 100), left = range(0, 10), same = range(0, 10), inside = range(40, 50);
  for (interval* i : {&left, &wide, &same, &inside}) tree.insert(*i);
  CHECK(tree.covering(5, 60) == &wide);
  tree.remove(wide);
  CHECK(tree.covering(5, 60) == nullptr);
  CHECK(tree.covering(45, 50) == &inside);
  CHECK(tree.overlapping(10, 45) == &inside);
  tree.remove(left);
  CHECK(tree.covering(0, 10) == &same);
  tree.remove(same);
  CHECK(tree.covering(0, 10) == nullptr);
  CHECK(tree.overlapping(0, 100) == &inside);
}

TEST_CASE("a tree of random ranges gives the same answers as a list") {
  std::mt19937_64 random(11);
  const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
  for (const uint64_t longest : {3, 30, 1000}) {
    interval_tree tree;
    std::deque<interval> nodes(300);
    std::vector<interval*> in, out;
    for (interval& n : nodes) out.push_back(&n);
    for (int step = 0; step < 4000; ++step) {
      if (!out.empty() && (in.empty() || up_to(2) > 0)) {
        std::swap(out[up_to(out.size() - 1)], out.back());
        interval& n = *out.back();
        out.pop_back();
        n.begin = up_to(1000);
        n.end = n.begin + 1 + up_to(longest - 1);
        tree.insert(n);
        in.push_back(&n);
      } else {
        std::swap(in[up_to(in.size() - 1)], in.back());
        tree.remove(*in.back());
        out.push_back(in.back());
        in.pop_back();
      }
      const uint64_t begin = up_to(1000), end = begin + 1 + up_to(longest);
      const interval* c = tree.covering(begin, end);
      const interval* o = tree.overlapping(begin, end);
      const auto holds = [&](auto what) {
        return std::any_of(in.begin(), in.end(), [&](const interval* i) { return what(*i, begin, end); });
      };
      REQUIRE((c != nullptr) == holds(covers));
      REQUIRE((o != nullptr) == holds(overlaps));
      if (c != nullptr) REQUIRE(covers(*c, begin, end));
      if (o == nullptr) continue;
      REQUIRE(overlaps(*o, begin, end));
      for (const interval* i : in)
        if (overlaps(*i, begin, end)) REQUIRE(i->begin >= o->begin);
    }
  }
}
