// The constructors of data descriptions, and functions that query, pack and unpack them.
#include <algorithm>
#include <climits>
#include <utility>
#include <vector>

#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

/// Collects the parts of a new description, and computes its bounds from theirs.
class assembly {
 public:
  /// Adds `n` elements of `old` from displacement `at` on; the distance between them is the extent of `old`. Returns
  /// false if an address does not fit in a word.
  bool add(const traits& old, size_t n, intptr_t at) {
    const bool marks = old.marks_lower || old.marks_upper;
    if (n == 0 || (old.bytes.is_empty() && !marks)) return true;
    intptr_t reach = 0, low = 0, high = 0;
    size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<intptr_t>(n - 1), old.extent(), &reach) ||
        __builtin_mul_overflow(n, old.bytes.size, &bytes) || __builtin_add_overflow(size_, bytes, &size_) ||
        size_ > PTRDIFF_MAX || __builtin_add_overflow(at, old.lower + std::min<intptr_t>(reach, 0), &low) ||
        __builtin_add_overflow(at, old.upper + std::max<intptr_t>(reach, 0), &high))
      return false;
    bound(lower_, low, old.marks_lower, [](intptr_t a, intptr_t b) { return a < b; });
    bound(upper_, high, old.marks_upper, [](intptr_t a, intptr_t b) { return a > b; });
    alignment_ = std::max(alignment_, old.alignment);
    parts_.push_back(moved(make_loop(n, old.extent(), old.bytes), at));
    return true;
  }
  /// Returns the description. `padded`: round the upper bound up to the alignment, unless a marker sets it.
  traits end(bool padded) {
    traits t;
    t.bytes = make_sequence(std::move(parts_));
    t.lower = lower_.at;
    t.upper = upper_.at;
    t.marks_lower = lower_.marked;
    t.marks_upper = upper_.marked;
    t.alignment = alignment_;
    if (padded && !t.marks_lower && !t.marks_upper && t.extent() > 0) {
      const auto unit = static_cast<intptr_t>(alignment_);
      t.upper = t.lower + (t.extent() + unit - 1) / unit * unit;
    }
    return t;
  }

 private:
  struct limit {
    intptr_t at = 0;
    bool set = false, marked = false;
  };
  template <class Beyond>
  static void bound(limit& of, intptr_t at, bool marked, Beyond beyond) {
    if (of.marked && !marked) return;
    if (!of.set || (marked && !of.marked) || beyond(at, of.at)) of.at = at;
    of.set = true;
    of.marked |= marked;
  }

  std::vector<shape> parts_;
  limit lower_, upper_;
  size_t alignment_ = 1, size_ = 0;
};

/// Prints a line and returns false if the handle is no description.
bool get_traits(const char* function, const char* what, CCS_datadesc_t desc, traits& t) {
  size_t bytes = 0;
  if (is_builtin(desc, bytes)) {
    t = traits();
    t.bytes = make_run(0, bytes);
    t.upper = static_cast<intptr_t>(bytes);
    t.alignment = std::max<size_t>(bytes, 1);
    t.marks_lower = desc == CCS_DATA_LB;
    t.marks_upper = desc == CCS_DATA_UB;
    return true;
  }
  const description* const d = description_of(desc);
  if (d == nullptr) {
    (void)refuse(function, "%s = 0x%llx is no description of data, or was freed", what,
                 static_cast<unsigned long long>(desc));
    return false;
  }
  t = d->about;
  return true;
}

int give(traits t, CCS_datadesc_t* newdesc) {
  *newdesc = description::make(std::move(t));
  return CCS_SUCCESS;
}

int too_large(const char* function) {
  return refuse(function, "the description would have more bytes, or farther ones, than memory");
}

/// Runs f. A lack of memory is CCS_FAILURE, as documented for constructors, and not CCS_NOMEM.
template <class F>
int make(const char* function, const char* number, int count, CCS_datadesc_t* newdesc, F&& f) noexcept {
  if (newdesc == nullptr) return refuse(function, "newdesc is NULL, but must be the address of a description");
  if (count < 0) return refuse(function, "%s = %d, but must be at least 0", number, count);
  return or_code(function, f) == CCS_SUCCESS ? CCS_SUCCESS : CCS_FAILURE;
}

int bad_block(const char* function, int i, int length) {
  return refuse(function, "blocklengths[%d] = %d, but must be at least 0", i, length);
}

}  // namespace

}  // namespace ccs

using namespace ccs;

int CCS_datadesc_create_contiguous(int count, CCS_datadesc_t olddesc, CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_contiguous";
  return make(me, "count", count, newdesc, [&] {
    traits old;
    if (!get_traits(me, "olddesc", olddesc, old)) return +CCS_FAILURE;
    assembly all;
    if (!all.add(old, static_cast<size_t>(count), 0)) return too_large(me);
    return give(all.end(false), newdesc);
  });
}

int CCS_datadesc_create_vector(int count, int blocklength, int stride, CCS_datadesc_t olddesc,
                               CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_vector";
  return make(me, "count", count, newdesc, [&] {
    if (blocklength < 0) return refuse(me, "blocklength = %d, but must be at least 0", blocklength);
    traits old;
    if (!get_traits(me, "olddesc", olddesc, old)) return +CCS_FAILURE;
    assembly block;
    if (!block.add(old, static_cast<size_t>(blocklength), 0)) return too_large(me);
    traits one = block.end(false);
    // Treat the blocks as elements whose extent is the stride. Only the last block's own upper bound matters.
    const intptr_t lower = one.lower, upper = one.upper;
    if (count == 0 || (one.bytes.is_empty() && !one.marks_lower && !one.marks_upper)) return give(traits(), newdesc);
    size_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<size_t>(count), one.bytes.size, &bytes) || bytes > PTRDIFF_MAX)
      return too_large(me);
    const intptr_t reach = static_cast<intptr_t>(count - 1) * stride;
    one.bytes = make_loop(static_cast<size_t>(count), stride, one.bytes);
    one.lower = lower + std::min<intptr_t>(reach, 0);
    one.upper = upper + std::max<intptr_t>(reach, 0);
    return give(std::move(one), newdesc);
  });
}

int CCS_datadesc_create_struct(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t* descs,
                               CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_struct";
  return make(me, "count", count, newdesc, [&] {
    if (count > 0 && (blocklengths == nullptr || displacements == nullptr || descs == nullptr))
      return refuse(me, "count = %d, but an array is NULL", count);
    assembly all;
    for (int i = 0; i < count; ++i) {
      if (blocklengths[i] < 0) return bad_block(me, i, blocklengths[i]);
      traits old;
      if (!get_traits(me, "an element of descs", descs[i], old)) return +CCS_FAILURE;
      if (descs[i] == CCS_DATA_NULL) continue;
      if (!all.add(old, static_cast<size_t>(blocklengths[i]), displacements[i])) return too_large(me);
    }
    return give(all.end(true), newdesc);
  });
}

int CCS_datadesc_create_indexed(int count, int* blocklengths, CCS_aint_t* displacements, CCS_datadesc_t olddesc,
                                CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_indexed";
  return make(me, "count", count, newdesc, [&] {
    if (count > 0 && (blocklengths == nullptr || displacements == nullptr))
      return refuse(me, "count = %d, but an array is NULL", count);
    traits old;
    if (!get_traits(me, "olddesc", olddesc, old)) return +CCS_FAILURE;
    assembly all;
    for (int i = 0; i < count; ++i) {
      if (blocklengths[i] < 0) return bad_block(me, i, blocklengths[i]);
      if (!all.add(old, static_cast<size_t>(blocklengths[i]), displacements[i])) return too_large(me);
    }
    return give(all.end(false), newdesc);
  });
}

int CCS_datadesc_create_blockindexed(int count, int blocklength, CCS_aint_t* displacements, CCS_datadesc_t olddesc,
                                     CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_blockindexed";
  return make(me, "count", count, newdesc, [&] {
    if (blocklength < 0) return refuse(me, "blocklength = %d, but must be at least 0", blocklength);
    if (count > 0 && displacements == nullptr) return refuse(me, "count = %d, but displacements is NULL", count);
    traits old;
    if (!get_traits(me, "olddesc", olddesc, old)) return +CCS_FAILURE;
    assembly all;
    for (int i = 0; i < count; ++i)
      if (!all.add(old, static_cast<size_t>(blocklength), displacements[i])) return too_large(me);
    return give(all.end(false), newdesc);
  });
}

int CCS_datadesc_create_strided(int levels, const int* strides_bytes, const int* counts, CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_strided";
  return make(me, "levels", levels, newdesc, [&] {
    if (counts == nullptr) return refuse(me, "counts is NULL, but must be an array of levels + 1 = %d", levels + 1);
    if (levels > 0 && strides_bytes == nullptr)
      return refuse(me, "strides_bytes is NULL, but must be an array of levels = %d", levels);
    for (int i = 0; i <= levels; ++i)
      if (counts[i] < 0) return refuse(me, "counts[%d] = %d, but must be at least 0", i, counts[i]);
    traits t;
    t.bytes = make_run(0, static_cast<size_t>(counts[0]));
    size_t size = t.bytes.size;
    for (int i = 0; i < levels; ++i) {
      if (__builtin_mul_overflow(size, static_cast<size_t>(counts[i + 1]), &size) || size > PTRDIFF_MAX)
        return too_large(me);
      t.bytes = make_loop(static_cast<size_t>(counts[i + 1]), strides_bytes[i], t.bytes);
    }
    const span all = span_of(t.bytes);
    t.lower = all.begin;
    t.upper = all.end;
    return give(std::move(t), newdesc);
  });
}

int CCS_datadesc_create_iov(int n, const CCS_aint_t* displacements, const size_t* lengths, CCS_datadesc_t* newdesc) {
  constexpr const char* me = "CCS_datadesc_create_iov";
  return make(me, "n", n, newdesc, [&] {
    if (n > 0 && (displacements == nullptr || lengths == nullptr)) return refuse(me, "n = %d, but an array is NULL", n);
    std::vector<run> runs;
    runs.reserve(static_cast<size_t>(n));
    size_t size = 0;
    for (int i = 0; i < n; ++i) {
      intptr_t end = 0;
      if (__builtin_add_overflow(size, lengths[i], &size) || size > PTRDIFF_MAX ||
          __builtin_add_overflow(displacements[i], lengths[i], &end))
        return too_large(me);
      runs.push_back({displacements[i], lengths[i]});
    }
    traits t;
    t.bytes = make_runs(std::move(runs));
    const span all = span_of(t.bytes);
    t.lower = all.begin;
    t.upper = all.end;
    return give(std::move(t), newdesc);
  });
}

CCS_aint_t CCS_datadesc_extent(CCS_datadesc_t desc) {
  traits t;
  return get_traits("CCS_datadesc_extent", "desc", desc, t) ? t.extent() : 0;
}

CCS_aint_t CCS_datadesc_size(CCS_datadesc_t desc) {
  traits t;
  return get_traits("CCS_datadesc_size", "desc", desc, t) ? static_cast<CCS_aint_t>(t.bytes.size) : 0;
}

void CCS_datadesc_free(CCS_datadesc_t* desc) {
  if (desc == nullptr) {
    (void)refuse("CCS_datadesc_free", "desc is NULL, but must be the address of a description");
    return;
  }
  size_t bytes = 0;
  if (is_builtin(*desc, bytes)) return;
  if (!description::free(*desc)) {
    (void)refuse("CCS_datadesc_free", "*desc = 0x%llx is no description of data, or was freed",
                 static_cast<unsigned long long>(*desc));
    return;
  }
  *desc = CCS_DATA_NULL;
}

int CCS_pack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes) {
  constexpr const char* me = "CCS_pack";
  if (count < 0) return refuse(me, "count = %d, but must be at least 0", count);
  return or_code(me, [&] {
    const layout from(me, argument_names{"src", "count", "desc"}, src, static_cast<size_t>(count), desc);
    if (!from.valid()) return +CCS_FAILURE;
    if (from.size() > bytes) return refuse(me, "the data has %zu bytes, but bytes = %zu", from.size(), bytes);
    if (dest == nullptr && from.size() > 0) return refuse(me, "dest is NULL");
    pack(from.whole(), src, 0, from.size(), dest);
    return +CCS_SUCCESS;
  });
}

int CCS_unpack(void* dest, void* src, int count, CCS_datadesc_t desc, size_t bytes) {
  constexpr const char* me = "CCS_unpack";
  if (count < 0) return refuse(me, "count = %d, but must be at least 0", count);
  return or_code(me, [&] {
    const layout to(me, argument_names{"dest", "count", "desc"}, dest, static_cast<size_t>(count), desc);
    if (!to.valid()) return +CCS_FAILURE;
    if (to.size() > bytes) return refuse(me, "the data has %zu bytes, but bytes = %zu", to.size(), bytes);
    if (src == nullptr && to.size() > 0) return refuse(me, "src is NULL");
    unpack(to.whole(), dest, 0, to.size(), src);
    return +CCS_SUCCESS;
  });
}
