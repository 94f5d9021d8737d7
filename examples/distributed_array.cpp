// An array of numbers distributed over all ranks in blocks. Any rank reads and writes any element or range by its
// index; elements of its own block are plain memory.
//
//   lcirun -n 4 distributed_array [elements]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <stdexcept>
#include <vector>

namespace {

// Constructor, synchronise() and destructor are collective.
template <class T>
class distributed_array {
 public:
  explicit distributed_array(size_t size)
      : size_(size),
        n_(static_cast<size_t>(lci::get_rank_n())),
        me_(static_cast<size_t>(lci::get_rank_me())),
        per_rank_((size + n_ - 1) / n_),
        block_(std::max<size_t>(1, end(me_) - begin(me_))),
        keys_(n_) {
    mr_ = lci::register_memory(block_.data(), block_.size() * sizeof(T));
    const lci::rmr_t mine = lci::get_rmr(mr_);
    lci::allgather(&mine, keys_.data(), sizeof mine);
  }
  ~distributed_array() {
    lci::barrier();  // no rank accesses our block any more
    lci::deregister_memory(&mr_);
  }
  distributed_array(const distributed_array&) = delete;
  distributed_array& operator=(const distributed_array&) = delete;

  size_t begin(size_t rank) const { return std::min(size_, rank * per_rank_); }
  size_t end(size_t rank) const { return std::min(size_, (rank + 1) * per_rank_); }
  // This rank's block.
  T* data() { return block_.data(); }
  size_t first() const { return begin(me_); }
  size_t last() const { return end(me_); }

  void write(size_t at, const T* from, size_t count) {
    pieces(at, count, [&](size_t rank, size_t offset, size_t done, size_t n) {
      lci::post_put(static_cast<int>(rank), from + done, n * sizeof(T), lci::COMP_NULL, offset * sizeof(T),
                    keys_[rank]);
    });
  }
  void read(size_t at, T* to, size_t count) {
    pieces(at, count, [&](size_t rank, size_t offset, size_t done, size_t n) {
      lci::post_get(static_cast<int>(rank), to + done, n * sizeof(T), lci::COMP_NULL, offset * sizeof(T), keys_[rank]);
    });
  }
  T operator[](size_t at) {
    T value;
    read(at, &value, 1);
    return value;
  }
  // Everything written before by any rank is visible afterwards to all ranks: write() waits until its put is complete,
  // and the data of a complete put is in the target's memory.
  void synchronise() { lci::barrier(); }

  T sum() {
    T mine{}, all{};
    for (size_t i = 0; i < last() - first(); ++i) mine += block_[i];
    lci::allreduce(&mine, &all, 1, sizeof(T), [](const void* a, const void* b, void* d, size_t n) {
      for (size_t i = 0; i < n; ++i) static_cast<T*>(d)[i] = static_cast<const T*>(a)[i] + static_cast<const T*>(b)[i];
    });
    return all;
  }

 private:
  // Splits a range at block borders: f(rank, offset in its block, elements before, elements).
  template <class F>
  void pieces(size_t at, size_t count, F f) {
    if (at > size_ || count > size_ - at) throw std::out_of_range("distributed_array");
    for (size_t done = 0; done < count;) {
      const size_t rank = (at + done) / per_rank_, offset = at + done - begin(rank);
      const size_t n = std::min(count - done, end(rank) - (at + done));
      f(rank, offset, done, n);
      done += n;
    }
  }

  size_t size_, n_, me_, per_rank_;
  std::vector<T> block_;
  lci::mr_t mr_;
  std::vector<lci::rmr_t> keys_;
};

}  // namespace

int main(int argc, char** argv) {
  const size_t size = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100000;
  lci::g_runtime_init();
  const auto me = static_cast<size_t>(lci::get_rank_me()), n = static_cast<size_t>(lci::get_rank_n());
  size_t errors = 0;
  {
    distributed_array<long> a(size);
    for (size_t i = a.first(); i < a.last(); ++i) a.data()[i - a.first()] = static_cast<long>(i);
    a.synchronise();
    const long expected = static_cast<long>(size) * (static_cast<long>(size) - 1) / 2;
    errors += a.sum() != expected;

    // Every rank reads the whole array, in ranges that cross block borders.
    std::vector<long> range;
    for (size_t at = 0; at < size; at += range.size()) {
      range.resize(std::min<size_t>(777, size - at));
      a.read(at, range.data(), range.size());
      for (size_t i = 0; i < range.size(); ++i) errors += range[i] != static_cast<long>(at + i);
    }
    a.synchronise();

    // Each rank doubles the elements whose index is its rank modulo the number of ranks.
    for (size_t i = me; i < std::min<size_t>(size, 2000); i += n) {
      const long doubled = 2 * a[i];
      a.write(i, &doubled, 1);
    }
    a.synchronise();
    for (size_t i = 0; i < std::min<size_t>(size, 2000); ++i) errors += a[i] != 2 * static_cast<long>(i);
    const size_t d = std::min<size_t>(size, 2000);
    errors += a.sum() != expected + static_cast<long>(d * (d - 1) / 2);
    if (me == 0) std::printf("%zu elements on %zu ranks: %zu errors\n", size, n, errors);
  }
  lci::g_runtime_fina();
  return errors != 0;
}
