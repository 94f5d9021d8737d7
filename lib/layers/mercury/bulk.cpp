#include "lib/layers/mercury/bulk.hpp"

#include <random>

#include "lib/layers/mercury/state.hpp"

namespace mercury {
namespace {

uint64_t random_number() {
  std::random_device source;
  return (uint64_t{source()} << 32 | source()) | 1;
}

}  // namespace

bulk::bulk(bulk_runtime& r, std::vector<na_segment> segments, unsigned long flags, std::unique_ptr<char[]> owned)
    : owner(r),
      na_(r.network->na()),
      segments_(std::move(segments)),
      owned_(std::move(owned)),
      size_(size_of(segments_)),
      segment_count_(segments_.size()),
      flags_(flags) {
  // NA takes a pointer to non-const, but does not write to the list.
  const na_return_t made =
      NA_Mem_handle_create_segments(na_, const_cast<na_segment*>(segments_.data()), segments_.size(), flags, &memory_);
  if (made == NA_NOMEM_ERROR) throw std::bad_alloc();
  if (made != NA_SUCCESS) throw std::runtime_error("the network can't describe the memory");
  process_ = r.process;
  try {
    id_ = r.add(this);
  } catch (...) {
    NA_Mem_handle_free(na_, memory_);
    throw;
  }
}

bulk::bulk(bulk_runtime& r, na_mem_handle_t memory, const bulk_header& h, uint64_t base)
    : owner(r),
      na_(r.network->na()),
      size_(h.size),
      segment_count_(h.segments),
      flags_(h.flags & ~bulk_is_range),
      is_range_((h.flags & bulk_is_range) != 0),
      base_(base),
      process_(h.process),
      id_(h.id),
      memory_(memory) {}

bulk_header bulk::header() const {
  bulk_header h;
  h.flags = static_cast<uint32_t>(flags_) | (is_range_ ? bulk_is_range : 0);
  h.size = size_;
  h.segments = segment_count_;
  h.process = process_;
  h.id = id_;
  return h;
}

bulk::~bulk() {
  if (memory_ != NA_MEM_HANDLE_NULL) NA_Mem_handle_free(na_, memory_);
}

hg_return_t bulk::expose() {
  if (!is_local()) return HG_SUCCESS;
  std::lock_guard guard(lock_);
  if (is_exposed_) return HG_SUCCESS;
  const na_return_t registered = NA_Mem_register(na_, memory_);
  is_exposed_ = registered == NA_SUCCESS;
  return is_exposed_ ? HG_SUCCESS : code_for(registered, HG_NA_ERROR);
}

bool bulk::ref_if_alive() {
  uint32_t n = refs_.load(std::memory_order_relaxed);
  while (n != 0)
    if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) return true;
  return false;
}

void bulk::unref() {
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (is_local()) owner.remove(this);
  delete this;
}

bulk_runtime::bulk_runtime(std::shared_ptr<lane> n) : network(std::move(n)), process(random_number()) {}

uint64_t bulk_runtime::add(bulk* b) {
  std::lock_guard guard(lock_);
  local_.emplace(next_id_, b);
  return next_id_++;
}

void bulk_runtime::remove(bulk* b) {
  std::lock_guard guard(lock_);
  local_.erase(b->id());
}

bulk* bulk_runtime::find(uint64_t id) {
  std::lock_guard guard(lock_);
  const auto found = local_.find(id);
  return found != local_.end() && found->second->ref_if_alive() ? found->second : nullptr;
}

size_t bulk_runtime::handles() const {
  std::lock_guard guard(lock_);
  return local_.size();
}

bulk_runtime* current_bulk(const char* function) {
  bulk_runtime* r = the_state.bulk.load(std::memory_order_acquire);
  if (__builtin_expect(r == nullptr, 0)) fail(HG_FAIL, function, "HG_Init() or HG_Bulk_init() must be called before");
  return r;
}

hg_return_t init_bulk(const char* function, na_class_t* na) {
  if (na == nullptr) return fail(HG_INVALID_PARAM, function, "na_class is NULL: has NA_Initialize() succeeded?");
  const bulk_runtime* there = the_state.bulk.load(std::memory_order_relaxed);
  if (there != nullptr) {
    if (there->network->na() != na)
      return fail(HG_FAIL, function, "transfers use another class already: call HG_Bulk_finalize() before");
    the_state.ends_bulk.store(false, std::memory_order_relaxed);
    return HG_SUCCESS;
  }
  std::shared_ptr<lane> network = lane_for(na);
  if (network == nullptr) return fail(HG_NA_ERROR, function, "the class has no further context");
  the_state.bulk.store(new bulk_runtime(std::move(network)), std::memory_order_release);
  return HG_SUCCESS;
}

hg_return_t finalize_bulk(const char* function) {
  bulk_runtime* r = the_state.bulk.load(std::memory_order_relaxed);
  if (r == nullptr) return HG_SUCCESS;
  if (const size_t handles = r->handles(), transfers = r->transfers.in_use(); handles != 0 || transfers != 0)
    return fail(HG_FAIL, function,
                "bulk handles that have not been freed: %zu, transfers that have not been waited for: %zu; the class "
                "can't be finalized before",
                handles, transfers);
  the_state.bulk.store(nullptr, std::memory_order_release);
  the_state.ends_bulk.store(false, std::memory_order_relaxed);
  delete r;
  return HG_SUCCESS;
}

void end_bulk_if_due() {
  if (LCI_LIKELY(!the_state.ends_bulk.load(std::memory_order_relaxed))) return;
  std::lock_guard guard(the_state.lock);
  const bulk_runtime* r = the_state.bulk.load(std::memory_order_relaxed);
  if (r == nullptr || !the_state.ends_bulk.load(std::memory_order_relaxed)) return;
  if (r->handles() == 0 && r->transfers.in_use() == 0) finalize_bulk("HG_Finalize");
}

}  // namespace mercury
