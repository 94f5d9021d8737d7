#include "lib/layers/ccs/shape.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>

namespace ccs {

namespace {

/// Shapes of up to this many runs are replaced by lists of their runs inside of a sequence, since copying a list is
/// faster than iterating over nested loops.
constexpr size_t most_expanded = 64;
/// Functions that iterate over a shape call themselves for each level, and a program may nest descriptions without
/// limit. So make_sequence() puts the parts of a list that is nested this deeply into the new list, instead of the list
/// itself. This bounds the depth of the recursion.
constexpr size_t most_nested = 32;

/// Returns how many lists are nested in each other. Loops are not counted: each has at least twice the bytes of its
/// body, so no more than about 64 can be nested.
size_t depth_of(const shape& s) {
  if (s.what == shape::kind::parts) return s.sequence->depth;
  return s.body != nullptr ? depth_of(*s.body) : 0;
}

void append_runs(std::vector<run>& to, const shape& s, intptr_t at);

void append_repeated(std::vector<run>& to, const shape& s, intptr_t at) {
  for (size_t i = 0; i < s.count; ++i) {
    const intptr_t place = at + static_cast<intptr_t>(i) * s.stride;
    if (s.body == nullptr) {
      to.push_back({place, s.body_size()});
    } else {
      append_runs(to, *s.body, place);
    }
  }
}

/// Appends the runs of a shape that is displaced by `at`.
void append_runs(std::vector<run>& to, const shape& s, intptr_t at) {
  at += s.at;
  switch (s.what) {
    case shape::kind::none:
      return;
    case shape::kind::one:
      return to.push_back({at, s.size});
    case shape::kind::loop:
      return append_repeated(to, s, at);
    case shape::kind::runs:
      for (const run& r : s.list->runs) to.push_back({at + r.at, r.size});
      return;
    case shape::kind::parts:
      for (const shape& part : s.sequence->parts) append_runs(to, part, at);
  }
}

void join_neighbours(std::vector<run>& runs) {
  size_t n = 0;
  for (const run& r : runs) {
    if (r.size == 0) continue;
    if (n > 0 && runs[n - 1].at + static_cast<intptr_t>(runs[n - 1].size) == r.at)
      runs[n - 1].size += r.size;
    else
      runs[n++] = r;
  }
  runs.resize(n);
}

bool have_one_size(const std::vector<run>& runs) {
  return std::all_of(runs.begin(), runs.end(), [&](const run& r) { return r.size == runs.front().size; });
}

bool have_one_distance(const std::vector<run>& runs) {
  const intptr_t stride = runs[1].at - runs[0].at;
  for (size_t i = 2; i < runs.size(); ++i)
    if (runs[i].at - runs[i - 1].at != stride) return false;
  return true;
}

}  // namespace

shape make_runs(std::vector<run> runs) {
  join_neighbours(runs);
  if (runs.empty()) return {};
  if (runs.size() == 1) return make_run(runs[0].at, runs[0].size);
  const bool alike = have_one_size(runs);
  if (alike && have_one_distance(runs))
    return make_loop(runs.size(), runs[1].at - runs[0].at, make_run(runs[0].at, runs[0].size));
  auto list = std::make_shared<run_list>();
  shape s;
  s.what = shape::kind::runs;
  if (!alike) list->starts.reserve(runs.size());
  for (const run& r : runs) {
    if (!alike) list->starts.push_back(s.size);
    s.size += r.size;
  }
  runs.shrink_to_fit();
  list->runs = std::move(runs);
  s.list = std::move(list);
  return s;
}

size_t shape::n_runs() const {
  switch (what) {
    case kind::none:
      return 0;
    case kind::one:
      return 1;
    case kind::loop:
      return body == nullptr ? count : count * body->n_runs();
    case kind::runs:
      return list->runs.size();
    case kind::parts:
      break;
  }
  size_t n = 0;
  for (const shape& part : sequence->parts) n += part.n_runs();
  return n;
}

shape make_run(intptr_t at, size_t size) {
  shape s;
  if (size == 0) return s;
  s.what = shape::kind::one;
  s.at = at;
  s.size = size;
  return s;
}

shape moved(shape s, intptr_t by) {
  s.at += by;
  return s;
}

shape make_loop(size_t count, intptr_t stride, const shape& body) {
  if (count == 0 || body.is_empty()) return {};
  if (count == 1) return body;
  if (body.what == shape::kind::one && static_cast<intptr_t>(body.size) == stride)
    return make_run(body.at, body.size * count);
  shape s;
  s.what = shape::kind::loop;
  s.size = body.size * count;
  s.count = count;
  s.stride = stride;
  if (body.what == shape::kind::loop && static_cast<intptr_t>(body.count) * body.stride == stride) {
    s.at = body.at;
    s.count = count * body.count;
    s.stride = body.stride;
    s.body = body.body;
  } else if (body.what == shape::kind::one) {
    s.at = body.at;
  } else {
    s.body = std::make_shared<shape>(body);
  }
  return s;
}

shape make_sequence(std::vector<shape> parts) {
  parts.erase(std::remove_if(parts.begin(), parts.end(), [](const shape& s) { return s.is_empty(); }), parts.end());
  if (parts.empty()) return {};
  // Join neighbours with few runs to lists of runs. If nothing else remains, the whole shape is one list.
  std::vector<shape> joined;
  std::vector<run> runs;
  const auto flush = [&] {
    if (runs.empty()) return;
    shape s = make_runs(std::move(runs));
    runs.clear();
    if (!s.is_empty()) joined.push_back(std::move(s));
  };
  const auto add = [&](const shape& part) {
    if (part.n_runs() <= most_expanded || part.what == shape::kind::runs) {
      append_runs(runs, part, 0);
    } else {
      flush();
      joined.push_back(part);
    }
  };
  for (const shape& part : parts) {
    if (part.what == shape::kind::parts && part.sequence->depth >= most_nested)
      for (const shape& inner : part.sequence->parts) add(moved(inner, part.at));
    else
      add(part);
  }
  flush();
  if (joined.size() == 1) return joined[0];
  auto list = std::make_shared<shape_list>();
  shape s;
  s.what = shape::kind::parts;
  for (const shape& part : joined) {
    list->starts.push_back(s.size);
    s.size += part.size;
    list->depth = std::max(list->depth, 1 + depth_of(part));
  }
  list->parts = std::move(joined);
  s.sequence = std::move(list);
  return s;
}

span span_of(const shape& s) {
  span inner{0, 0};
  switch (s.what) {
    case shape::kind::none:
      return {};
    case shape::kind::one:
      inner = {0, static_cast<intptr_t>(s.size)};
      break;
    case shape::kind::loop: {
      inner = s.body == nullptr ? span{0, static_cast<intptr_t>(s.body_size())} : span_of(*s.body);
      const intptr_t last = static_cast<intptr_t>(s.count - 1) * s.stride;
      (last < 0 ? inner.begin : inner.end) += last;
      break;
    }
    case shape::kind::runs: {
      const run& first = s.list->runs.front();
      inner = {first.at, first.at};
      for (const run& r : s.list->runs) {
        inner.begin = std::min(inner.begin, r.at);
        inner.end = std::max(inner.end, r.at + static_cast<intptr_t>(r.size));
      }
      break;
    }
    case shape::kind::parts:
      // span_of() is called once for each part. A second call for one of them would double the time with each level.
      inner = {INTPTR_MAX, INTPTR_MIN};
      for (const shape& part : s.sequence->parts) {
        const span one = span_of(part);
        inner.begin = std::min(inner.begin, one.begin);
        inner.end = std::max(inner.end, one.end);
      }
  }
  return {inner.begin + s.at, inner.end + s.at};
}

grain grain_of(const shape& s) {
  const auto size = [](intptr_t n) { return static_cast<size_t>(n < 0 ? -n : n); };
  grain g;
  switch (s.what) {
    case shape::kind::none:
      return g;
    case shape::kind::one:
      g.sizes = s.size;
      break;
    case shape::kind::loop:
      if (s.body == nullptr)
        g.sizes = s.body_size();
      else
        g = grain_of(*s.body);
      g.places = std::gcd(g.places, size(s.stride));
      break;
    case shape::kind::runs:
      for (const run& r : s.list->runs) {
        g.sizes = std::gcd(g.sizes, r.size);
        g.places = std::gcd(g.places, size(r.at));
      }
      break;
    case shape::kind::parts:
      for (const shape& part : s.sequence->parts) {
        const grain one = grain_of(part);
        g.sizes = std::gcd(g.sizes, one.sizes);
        g.places = std::gcd(g.places, one.places);
      }
  }
  g.places = std::gcd(g.places, size(s.at));
  return g;
}

}  // namespace ccs
