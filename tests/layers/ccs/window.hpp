// Registered memory for tests. All ranks know its addresses.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "tests/layers/ccs/job.hpp"

namespace ccs_test {

/// Memory of one kind at each rank, and its addresses at all ranks.
class window {
 public:
  enum class kind { heap, stack, global, shared };
  window(job& j, kind k, size_t size) : job_(j), kind_(k), size_(size) {
    static unsigned char global[1 << 18];
    if (k == kind::heap) base_ = static_cast<unsigned char*>(std::malloc(size));
    if (k == kind::global || k == kind::stack) base_ = global;
    if (k == kind::shared) base_ = static_cast<unsigned char*>(CCS_malloc(size));
    share();
  }
  window(job& j, unsigned char* base, size_t size) : job_(j), kind_(kind::stack), base_(base), size_(size) { share(); }
  ~window() {
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    CHECK(CCS_deregister_mem(base_, size_) == CCS_SUCCESS);
    if (kind_ == kind::heap) std::free(base_);
    if (kind_ == kind::shared) CCS_free(base_);
  }
  unsigned char* mine() const { return base_; }
  unsigned char* of(CCS_node_t node) const { return reinterpret_cast<unsigned char*>(all_[node]); }

 private:
  void share() {
    REQUIRE(base_ != nullptr);
    REQUIRE(CCS_register_mem(base_, size_) == CCS_SUCCESS);
    std::vector<uint64_t> one(static_cast<size_t>(job_.size));
    all_.resize(one.size());
    one[static_cast<size_t>(job_.rank)] = reinterpret_cast<uint64_t>(base_);
    REQUIRE(CCS_allreduce(one.data(), all_.data(), one.size(), CCS_UINT64, CCS_SUM) == CCS_SUCCESS);
  }
  job& job_;
  const kind kind_;
  unsigned char* base_ = nullptr;
  const size_t size_;
  std::vector<uint64_t> all_;
};

}  // namespace ccs_test
