// Collective operations.
#include <cstdint>
#include <cstring>
#include <memory>

#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/numbers.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/walk.hpp"

using namespace ccs;

namespace {

/// Checks the arguments of a reduction. Prints a line and returns null for misuse.
process* begin_reduction(const char* function, const void* src, const void* dest, size_t count, CCS_number_t type,
                         CCS_combine_t op, bool gets_result) {
  process* const p = current(function);
  if (p == nullptr || !can_combine(function, op, type)) return nullptr;
  must_be_able_to_wait(function);
  if (count > PTRDIFF_MAX / size_of(type)) {
    (void)refuse(function, "count = %zu numbers of %zu bytes, which no memory can hold", count, size_of(type));
    return nullptr;
  }
  if (count == 0 || (src != nullptr && (dest != nullptr || !gets_result))) return p;
  (void)refuse(function, "count = %zu, but %s is NULL", count, src == nullptr ? "src" : "dest");
  return nullptr;
}

}  // namespace

int CCS_bcast(void* buf, size_t count, CCS_datadesc_t datadesc, CCS_node_t root) {
  constexpr const char* me = "CCS_bcast";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_node(*p, me, root, "root")) return +CCS_FAILURE;
    must_be_able_to_wait(me);
    const layout data(me, only_side, buf, count, datadesc);
    if (!data.valid()) return +CCS_FAILURE;
    std::unique_ptr<std::byte[]> packed;
    void* bytes = reinterpret_cast<void*>(data.begin());
    if (!data.is_contiguous()) {
      packed = std::make_unique<std::byte[]>(data.size());
      bytes = packed.get();
      if (static_cast<int>(root) == p->rank) pack(data.whole(), buf, 0, data.size(), bytes);
    }
    if (data.size() > 0)
      p->wait_for([&](lci::comp_t done) {
        lci::broadcast_x(bytes, data.size(), static_cast<int>(root)).device(p->device).comp(done)();
      });
    if (packed != nullptr && static_cast<int>(root) != p->rank) unpack(data.whole(), buf, 0, data.size(), bytes);
    return +CCS_SUCCESS;
  });
}

int CCS_reduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op, CCS_node_t root) {
  constexpr const char* me = "CCS_reduce";
  return or_code(me, [&] {
    process* p = current(me);
    if (p == nullptr || !is_node(*p, me, root, "root")) return +CCS_FAILURE;
    const bool is_root = static_cast<int>(root) == p->rank;
    if (begin_reduction(me, src, dest, count, type, op, is_root) == nullptr) return +CCS_FAILURE;
    if (count == 0) return +CCS_SUCCESS;
    // The core requires memory for the result at each process.
    std::unique_ptr<std::byte[]> room;
    if (dest == nullptr) {
      room = std::make_unique<std::byte[]>(count * size_of(type));
      dest = room.get();
    }
    p->wait_for([&](lci::comp_t done) {
      lci::reduce_x(src, dest, count, size_of(type), reduction_of(op, type), static_cast<int>(root))
          .device(p->device)
          .comp(done)();
    });
    return +CCS_SUCCESS;
  });
}

int CCS_allreduce(const void* src, void* dest, size_t count, CCS_number_t type, CCS_combine_t op) {
  constexpr const char* me = "CCS_allreduce";
  return or_code(me, [&] {
    process* const p = begin_reduction(me, src, dest, count, type, op, true);
    if (p == nullptr) return +CCS_FAILURE;
    if (count == 0) return +CCS_SUCCESS;
    p->wait_for([&](lci::comp_t done) {
      lci::allreduce_x(src, dest, count, size_of(type), reduction_of(op, type)).device(p->device).comp(done)();
    });
    return +CCS_SUCCESS;
  });
}
