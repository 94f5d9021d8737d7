// Counts of users of pages, in random order against one number for each page.
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "lib/layers/ccs/page_counts.hpp"

TEST_CASE("page counts are those of single pages", "[memory]") {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (const size_t n : {size_t{1}, size_t{2}, size_t{9}, size_t{40}}) {
    ccs::page_counts counts(n);
    std::vector<uint32_t> expected(n, 0);
    std::vector<std::pair<size_t, size_t>> ranges;  // that have a user
    for (int step = 0; step < 3000; ++step) {
      counts.prepare();
      if (ranges.empty() || (ranges.size() < 12 && random() % 2 == 0)) {
        const size_t first = random() % 4 == 0 ? 0 : below(n);
        const size_t last = random() % 4 == 0 ? n : first + below(n - first + 1);
        counts.add(first, last);
        for (size_t page = first; page < last; ++page) ++expected[page];
        ranges.push_back({first, last});
      } else {
        const size_t which = below(ranges.size());
        const auto [first, last] = ranges[which];
        counts.remove(first, last);
        for (size_t page = first; page < last; ++page) --expected[page];
        ranges.erase(ranges.begin() + static_cast<ptrdiff_t>(which));
      }
      size_t used = 0;
      for (size_t page = 0; page < n; ++page) {
        REQUIRE(counts.at(page) == expected[page]);
        used += expected[page] > 0;
      }
      REQUIRE(counts.used() == used);
      const size_t first = below(n), last = first + 1 + below(n - first);
      bool unused = false;
      for (size_t page = first; page < last; ++page) unused |= expected[page] == 0;
      REQUIRE(counts.has_unused(first, last) == unused);
      const ccs::page_counts part = counts.part(first, last);
      REQUIRE(part.pages() == last - first);
      size_t used_part = 0;
      for (size_t page = first; page < last; ++page) {
        REQUIRE(part.at(page - first) == expected[page]);
        used_part += expected[page] > 0;
      }
      REQUIRE(part.used() == used_part);
    }
  }
}
