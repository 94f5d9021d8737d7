// Shapes: where the bytes of a description of data are, compiled to loops. A shape is built once, when its description
// is; copies walk it (walk.hpp) from any byte to any other, without any state in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ccs {

struct shape;

/// A piece of contiguous memory, `at` bytes from the shape's origin.
struct run {
  intptr_t at;
  size_t size;
};

/// Runs in the order of their bytes. Immutable once it is part of a shape.
struct run_list {
  std::vector<run> runs;
  std::vector<size_t> starts;  ///< the packed bytes before each run; empty if all runs have the same size
};

/// Shapes one after the other.
struct shape_list {
  std::vector<shape> parts;
  std::vector<size_t> starts;  ///< the packed bytes before each part
};

/// Immutable; a value that shares what it is made of, so copies are cheap and outlive the description they come from.
/// Never has zero bytes, unless it is `none`.
struct shape {
  enum class kind : uint8_t {
    none,  ///< no bytes
    one,   ///< one run of `size` bytes
    loop,  ///< `count` times `body`, `stride` bytes apart
    runs,  ///< the runs of `list`
    parts  ///< the shapes of `sequence`
  };
  kind what = kind::none;
  size_t size = 0;   ///< packed bytes
  intptr_t at = 0;   ///< displacement of the origin of what it consists of
  size_t count = 1;  ///< of a loop: at least 2
  intptr_t stride = 0;
  std::shared_ptr<const shape> body;           // a loop's; null: one run of size / count bytes
  std::shared_ptr<const run_list> list;        // of runs: at least 2
  std::shared_ptr<const shape_list> sequence;  // of parts: at least 2

  bool is_empty() const { return what == kind::none; }
  bool is_contiguous() const { return what == kind::none || what == kind::one; }
  /// Number of runs that a list of them would have.
  size_t n_runs() const;
  size_t body_size() const { return size / count; }
};

/// A shape of one run.
shape make_run(intptr_t at, size_t size);
/// `count` times a shape, `stride` bytes apart. Joins runs that touch, and loops that continue each other.
shape make_loop(size_t count, intptr_t stride, const shape& body);
/// The same shape at another place.
shape moved(shape s, intptr_t by);
/// The given runs. Joins those that touch, and recognises regular distances.
shape make_runs(std::vector<run> runs);
/// Shapes one after the other. Joins runs that touch, and recognises runs at regular distances.
shape make_sequence(std::vector<shape> parts);

/// The lowest byte, and the one behind the highest.
struct span {
  intptr_t begin = 0, end = 0;
};
span span_of(const shape& s);

/// The greatest common divisors of the sizes of all runs, and of their displacements and distances.
struct grain {
  size_t sizes = 0, places = 0;  // 0: of nothing but zeros
};
grain grain_of(const shape& s);

/// A shape as bytes that another process of the same kind of machine understands.
void append_to(std::vector<std::byte>& bytes, const shape& s);
/// False if the bytes are not of a shape.
bool read_shape(const std::byte*& from, const std::byte* end, shape& s);

}  // namespace ccs
