// Symmetric memory: each rank allocates its part, and all ranks exchange keys and addresses.
#include "lib/coll/symmetric.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <string>

#include "generated/core_operations.hpp"
#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/coll/gathered.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"

namespace lci::coll {
namespace {

/// A rank's description of its part, from which all ranks learn whether every part was allocated.
struct part {
  rmr_t rmr;
  bool allocated = false;
  bool to_be_equal = false;  // to the others'
  size_t size = 0, alignment = 0;

  std::string said_by(size_t rank) const {
    return "rank " + std::to_string(rank) + ": size = " + std::to_string(size) +
           ", alignment = " + std::to_string(alignment);
  }
};

/// Says whether a rank has mapped the others' parts.
struct mapping {
  bool done = false;
};

/// The first rank whose part differs from that of rank 0, if some rank checks its calls and requires equal parts; else
/// the number of ranks.
size_t first_unequal(const std::vector<part>& all) {
  const auto asks = [](const part& p) { return p.to_be_equal; };
  if (std::none_of(all.begin(), all.end(), asks)) return all.size();
  const auto differs = [&](const part& p) { return p.size != all[0].size || p.alignment != all[0].alignment; };
  return static_cast<size_t>(std::find_if(all.begin(), all.end(), differs) - all.begin());
}

/// Throws if a rank has no part, or parts that must be equal are not; `why`: this rank's exception, or null.
void require_all(const std::vector<part>& all, const std::exception_ptr& why) {
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r].allocated) continue;
    if (why != nullptr) std::rethrow_exception(why);
    throw resource_error("alloc_symmetric: rank " + std::to_string(r) + " could not allocate its part");
  }
  if (const size_t other = first_unequal(all); other < all.size()) {
    const std::string both = all[0].said_by(0) + "; " + all[other].said_by(other);
    throw_invalid("alloc_symmetric", "size or alignment", both, "the same at all ranks",
                  ".equal_parts(false) at all ranks allows it");
  }
}

void require_all(const std::vector<mapping>& all, const std::exception_ptr& why) {
  for (size_t r = 0; r < all.size(); ++r) {
    if (all[r].done) continue;
    if (why != nullptr) std::rethrow_exception(why);
    throw resource_error("alloc_symmetric: rank " + std::to_string(r) + " could not map the parts of the others");
  }
}

/// The other ranks wait for this rank, so an exchange that has not begun here for want of memory is begun again.
void insist_on_exchange(gathered<mapping>& maps, runtime_t runtime, device_t device) {
  const auto& numbers = *device.p_impl->collective_numbers;
  const uint32_t number = numbers.peek();
  for (int tries = 1;; ++tries) {
    try {
      return maps.gather(runtime, device);
    } catch (const resource_error&) {
      if (tries == memory_tries || numbers.peek() != number) throw;
    }
    await_memory();
  }
}

void check_rank(const char* what, const core::symmetric& s, int rank) {
  if (static_cast<size_t>(rank) >= s.rmrs.size())
    throw_invalid(what, "rank", std::to_string(rank), "0.." + std::to_string(s.rmrs.size() - 1));
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

symmetric_t alloc_symmetric(alloc_symmetric_args& a) {
  // Memory for everything is allocated before the exchange, after which the other ranks have theirs.
  const int n = get_rank_n_x().runtime(a.runtime)();
  coll::gathered<coll::part> parts(n);
  coll::gathered<coll::mapping> maps(n);
  coll::part& mine = parts.mine();
  mine.to_be_equal = watched_for(calls_are_checked) && a.equal_parts;
  mine.size = a.size;
  mine.alignment = a.alignment;
  auto memory = std::make_unique<symmetric>();
  memory->device = a.device;
  memory->device_serial = a.device.p_impl->serial;
  memory->rmrs.resize(static_cast<size_t>(n));
  memory->addresses.resize(static_cast<size_t>(n));
  std::exception_ptr why;
  try {
    memory->mr = alloc_shared_x(a.size).alignment(a.alignment).runtime(a.runtime).device(a.device)();
    objects::make_part(memory->mr.p_impl);
    mine.rmr = get_rmr_x(memory->mr).runtime(a.runtime)();
    mine.allocated = true;
  } catch (const resource_error&) {
    why = std::current_exception();  // thrown after the allgather, in which the others wait for this rank
  } catch (const invalid_argument_error&) {
    why = std::current_exception();
  }
  try {
    parts.gather(a.runtime, a.device);
    coll::require_all(parts.all(), why);
    try {
      for (size_t r = 0; r < parts.all().size(); ++r) {
        memory->rmrs[r] = parts.all()[r].rmr;
        memory->addresses[r] =
            get_shared_address_x(static_cast<int>(r), memory->rmrs[r]).runtime(a.runtime).device(a.device)();
      }
      maps.mine().done = true;
    } catch (const resource_error&) {
      why = std::current_exception();  // thrown after the second allgather
    }
    coll::insist_on_exchange(maps, a.runtime, a.device);
    coll::require_all(maps.all(), why);
  } catch (...) {
    if (mine.allocated) free_shared_x(&memory->mr).runtime(a.runtime)();
    throw;
  }
  return memory.release();
}

void free_symmetric(free_symmetric_args& a) {
  if (a.symmetric == nullptr || a.symmetric->is_empty())
    throw_invalid("free_symmetric", "symmetric", "empty", "from alloc_symmetric()");
  symmetric* const memory = a.symmetric->p_impl;
  device* const d = memory->device.p_impl;
  if (!objects::is_alive(d) || d->serial != memory->device_serial)
    throw_invalid("free_symmetric", "symmetric", "memory whose device was freed", "memory whose device is alive",
                  "free_symmetric() comes before free_device()");
  if (d->published.is_published(memory->mr.p_impl))
    throw_invalid("free_symmetric", "symmetric", "published", "one that other ranks do not find",
                  "unpublish_memory() comes first");
  if (tls_in_progress)
    throw_invalid("free_symmetric", "caller", "a handler", "outside of progress()",
                  "a handler can't wait for the other ranks");
  const std::unique_ptr<symmetric> ends(memory);
  *a.symmetric = symmetric_t();
  // Other ranks may use this rank's part until they enter the barrier. If it fails, some may still use it.
  try {
    barrier_x().runtime(a.runtime).device(ends->device)();
  } catch (...) {
    d->regions.abandon(*ends->mr.p_impl);
    throw;
  }
  free_shared_x(&ends->mr).runtime(a.runtime)();
}

mr_t get_symmetric_mr(get_symmetric_mr_args& a) { return a.symmetric.p_impl->mr; }

rmr_t get_symmetric_rmr(get_symmetric_rmr_args& a) {
  coll::check_rank("get_symmetric_rmr", *a.symmetric.p_impl, a.rank);
  return a.symmetric.p_impl->rmrs[static_cast<size_t>(a.rank)];
}

void* get_symmetric_address(get_symmetric_address_args& a) {
  coll::check_rank("get_symmetric_address", *a.symmetric.p_impl, a.rank);
  return a.symmetric.p_impl->addresses[static_cast<size_t>(a.rank)];
}

}  // namespace lci::core
