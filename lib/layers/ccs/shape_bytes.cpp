// Serializes shapes, for the process to whose memory a shape is applied.
#include <cstring>
#include <utility>

#include "lib/layers/ccs/shape.hpp"

namespace ccs {

namespace {

/// The header of each serialized shape.
struct head {
  uint64_t what;
  uint64_t size;
  int64_t at;
  uint64_t count;  // number of a loop's repetitions, of runs or of parts
  int64_t stride;  // of a loop; for lists of runs: whether they have `starts`
  uint64_t has_body;
};

template <class T>
void append(std::vector<std::byte>& bytes, const T* values, size_t n) {
  const auto* from = reinterpret_cast<const std::byte*>(values);
  bytes.insert(bytes.end(), from, from + n * sizeof(T));
}

template <class T>
bool take(const std::byte*& from, const std::byte* end, T* values, size_t n) {
  if (static_cast<size_t>(end - from) / sizeof(T) < n) return false;
  if (n > 0) std::memcpy(values, from, n * sizeof(T));
  from += n * sizeof(T);
  return true;
}

/// Largest nesting that the reader accepts, since it is recursive.
constexpr unsigned deepest = 4096;

bool read(const std::byte*& from, const std::byte* end, shape& s, unsigned depth);

bool read_body(const std::byte*& from, const std::byte* end, shape& s, const head& h, unsigned depth) {
  if (h.count < 2 || h.size % h.count != 0) return false;
  s.count = h.count;
  s.stride = h.stride;
  if (h.has_body == 0) return true;
  auto body = std::make_shared<shape>();
  if (!read(from, end, *body, depth + 1) || body->size != s.body_size()) return false;
  s.body = std::move(body);
  return true;
}

bool read_runs(const std::byte*& from, const std::byte* end, shape& s, const head& h) {
  if (h.count < 2 || h.count > static_cast<size_t>(end - from) / sizeof(run)) return false;
  auto list = std::make_shared<run_list>();
  list->runs.resize(h.count);
  if (!take(from, end, list->runs.data(), h.count)) return false;
  size_t size = 0;
  bool alike = true;
  for (const run& r : list->runs) {
    if (r.size == 0) return false;
    alike &= r.size == list->runs[0].size;
    size += r.size;
  }
  if (size != s.size) return false;
  if (!alike) {
    size = 0;
    for (const run& r : list->runs) {
      list->starts.push_back(size);
      size += r.size;
    }
  }
  s.list = std::move(list);
  return true;
}

bool read_parts(const std::byte*& from, const std::byte* end, shape& s, const head& h, unsigned depth) {
  if (h.count < 2 || h.count > static_cast<size_t>(end - from) / sizeof(head)) return false;
  auto list = std::make_shared<shape_list>();
  list->parts.resize(h.count);
  size_t size = 0;
  for (shape& part : list->parts) {
    if (!read(from, end, part, depth + 1)) return false;
    list->starts.push_back(size);
    size += part.size;
  }
  s.sequence = std::move(list);
  return size == s.size;
}

bool read(const std::byte*& from, const std::byte* end, shape& s, unsigned depth) {
  head h{};
  if (depth > deepest || !take(from, end, &h, 1) || h.what > static_cast<uint64_t>(shape::kind::parts)) return false;
  s.what = static_cast<shape::kind>(h.what);
  s.size = h.size;
  s.at = h.at;
  if ((s.size == 0) != s.is_empty()) return false;
  switch (s.what) {
    case shape::kind::loop:
      return read_body(from, end, s, h, depth);
    case shape::kind::runs:
      return read_runs(from, end, s, h);
    case shape::kind::parts:
      return read_parts(from, end, s, h, depth);
    default:
      return true;
  }
}

}  // namespace

void append_to(std::vector<std::byte>& bytes, const shape& s) {
  head h{static_cast<uint64_t>(s.what), s.size, s.at, s.count, s.stride, s.body != nullptr ? 1u : 0u};
  if (s.what == shape::kind::runs) h.count = s.list->runs.size();
  if (s.what == shape::kind::parts) h.count = s.sequence->parts.size();
  append(bytes, &h, 1);
  if (s.body != nullptr) append_to(bytes, *s.body);
  if (s.what == shape::kind::runs) append(bytes, s.list->runs.data(), s.list->runs.size());
  if (s.what == shape::kind::parts)
    for (const shape& part : s.sequence->parts) append_to(bytes, part);
}

bool read_shape(const std::byte*& from, const std::byte* end, shape& s) { return read(from, end, s, 0); }

}  // namespace ccs
