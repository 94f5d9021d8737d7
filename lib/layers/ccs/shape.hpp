// Shapes: the positions of a data description's bytes, compiled to loops and lists of runs. A shape is built together
// with its description. Copies (walk.hpp) can start and stop at any byte, without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ccs {

struct shape;

/// Contiguous bytes at displacement `at` from the shape's origin.
struct run {
  intptr_t at;
  size_t size;
};

/// Runs in packing order. Immutable once it is part of a shape.
struct run_list {
  std::vector<run> runs;
  std::vector<size_t> starts;  ///< the packed bytes before each run; empty if all runs have the same size
};

/// Shapes in packing order. Immutable once it is part of a shape.
struct shape_list {
  std::vector<shape> parts;
  std::vector<size_t> starts;  ///< the packed bytes before each part
  size_t depth = 1;            ///< of lists in lists; set by make_sequence()
};

/// A tree of loops and lists. A value: copies share their parts, so they are cheap and may outlive the description.
/// Immutable. Every shape except `none` has at least one byte.
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
  intptr_t at = 0;   ///< displacement of its parts' origin
  size_t count = 1;  ///< of a loop: at least 2
  intptr_t stride = 0;
  std::shared_ptr<const shape> body;           // of a loop; null: one run of size / count bytes
  std::shared_ptr<const run_list> list;        // of kind `runs`: at least 2
  std::shared_ptr<const shape_list> sequence;  // of kind `parts`: at least 2

  bool is_empty() const { return what == kind::none; }
  bool is_contiguous() const { return what == kind::none || what == kind::one; }
  /// The number of runs if all loops were expanded.
  size_t n_runs() const;
  size_t body_size() const { return size / count; }
};

/// A shape of one run.
shape make_run(intptr_t at, size_t size);
/// `count` times a shape, `stride` bytes apart. Joins adjacent runs, and loops that continue each other.
shape make_loop(size_t count, intptr_t stride, const shape& body);
/// The same shape, displaced by `by` bytes.
shape moved(shape s, intptr_t by);
/// A shape of the given runs. Joins adjacent runs, and turns runs at regular distances into loops.
shape make_runs(std::vector<run> runs);
/// A sequence of shapes. Joins adjacent runs, and turns runs at regular distances into loops.
shape make_sequence(std::vector<shape> parts);

/// A range of addresses: the lowest byte, and the one after the highest.
struct span {
  intptr_t begin = 0, end = 0;
};
span span_of(const shape& s);

/// The greatest common divisor of the sizes of all runs, and that of their displacements and strides.
struct grain {
  size_t sizes = 0, places = 0;  // 0 if all of them are 0
};
grain grain_of(const shape& s);

/// Serializes a shape for another process on a machine of the same kind.
void append_to(std::vector<std::byte>& bytes, const shape& s);
/// Reads a serialized shape and advances `from`. Returns false if the bytes are malformed.
bool read_shape(const std::byte*& from, const std::byte* end, shape& s);

}  // namespace ccs
