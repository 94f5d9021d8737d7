// Atomic operations, accumulates, and indexed puts.
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/base/error_line.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/numbers.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/remote_memory.hpp"
#include "lib/layers/ccs/services.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

/// An atomic operation on memory that this process has mapped. Uses the processor's atomic instructions, as the core
/// does, so that both are atomic with respect to each other.
CCS_atomic_type_t apply(CCS_atomic_op_t op, CCS_atomic_type_t* at, CCS_atomic_type_t value, CCS_atomic_type_t compare) {
  switch (op) {
    case CCS_ATOMIC_SWAP:
      return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
    case CCS_ATOMIC_COMPARESWAP:
      (void)__atomic_compare_exchange_n(at, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return compare;
    case CCS_ATOMIC_FETCHADD:
      return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    case CCS_ATOMIC_READ:
      return __atomic_load_n(at, __ATOMIC_SEQ_CST);
    default:
      return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
  }
}

/// Accumulates into memory that this process has mapped.
class mapped_combiner {
 public:
  mapped_combiner(CCS_combine_t op, CCS_number_t type, const scaling& scale, const shape& to, uintptr_t base)
      : op_(op), type_(type), scale_(scale), to_(to), base_(base) {}

  void all(const layout& from) {
    alignas(16) std::byte some[8192];
    for (size_t done = 0; done < from.size();) {
      const size_t n = std::min(from.size() - done, sizeof some);
      pack(from.whole(), reinterpret_cast<const void*>(from.base()), done, n, some);
      scale_.apply(some, n);
      packed_ = some;
      walk(to_, base_, done, n, *this);
      done += n;
    }
  }
  void one(uintptr_t at, size_t n) {
    combine_into(op_, type_, reinterpret_cast<void*>(at), packed_, n);
    packed_ += n;
  }
  void loop(uintptr_t at, intptr_t stride, size_t n, size_t count) {
    for (size_t i = 0; i < count; ++i, at = walking::add(at, stride)) one(at, n);
  }
  void same(uintptr_t to_base, const run* r, size_t n, size_t count) {
    for (size_t i = 0; i < count; ++i) one(walking::add(to_base, r[i].at), n);
  }

 private:
  const CCS_combine_t op_;
  const CCS_number_t type_;
  const scaling& scale_;
  const shape& to_;
  const uintptr_t base_;
  const std::byte* packed_ = nullptr;
};

bool has_whole_numbers(const char* function, const char* what, const layout& l, size_t size) {
  if (grain_of(l.whole()).sizes % size == 0) return true;
  (void)refuse(function, "%sdatadesc has a piece that is no multiple of %zu bytes, the size of a number", what, size);
  return false;
}

}  // namespace

}  // namespace ccs

using namespace ccs;

int CCS_atomic(CCS_node_t node, CCS_atomic_op_t op, CCS_atomic_type_t* var, CCS_atomic_type_t val,
               CCS_atomic_type_t cmp, CCS_atomic_type_t* result, CCS_callback_t callback, void* callback_arg) {
  constexpr const char* me = "CCS_atomic";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_node(*p, me, node)) return +CCS_FAILURE;
    if (static_cast<unsigned>(op) >= CCS_NUM_ATOMIC_OPS)
      return refuse(me, "op = %d is none of CCS_atomic_op_t", static_cast<int>(op));
    const auto at = reinterpret_cast<uintptr_t>(var);
    if (at == 0 || at % sizeof *var != 0)
      return refuse(me, "var = %s, but must be an address that is a multiple of %zu", lci::address_text(var).text,
                    sizeof *var);
    if (result == nullptr && op != CCS_ATOMIC_WRITE)
      return refuse(me, "result is NULL, but only CCS_ATOMIC_WRITE has none");
    const int target = static_cast<int>(node);
    if (std::byte* const here = mapped_here(*p, me, target, at, at + sizeof *var)) {
      immediate_callback at_end(p->due, callback, callback_arg);
      const CCS_atomic_type_t old = apply(op, reinterpret_cast<CCS_atomic_type_t*>(here), val, cmp);
      if (result != nullptr) *result = old;
      at_end.call();
      return +CCS_SUCCESS;
    }
    auto todo = std::make_unique<direct_operation>(*p, target, me, callback, callback_arg);
    todo->is = direct_operation::what::atomic;
    // A write that returns the old value is executed as a swap.
    todo->atomic = op == CCS_ATOMIC_WRITE && result != nullptr ? CCS_ATOMIC_SWAP : op;
    todo->here = reinterpret_cast<uintptr_t>(result);
    todo->there = at;
    todo->size = sizeof *var;
    todo->value = val;
    todo->compare = cmp;
    todo->count_as(operation::counted::outstanding);
    advance(todo);
    return +CCS_SUCCESS;
  });
}

int CCS_accumulate(CCS_node_t node, CCS_combine_t op, CCS_number_t type, const void* scale, void* src_buf,
                   size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf, size_t dest_count,
                   CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg) {
  constexpr const char* me = "CCS_accumulate";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_node(*p, me, node) || !can_combine(me, op, type)) return +CCS_FAILURE;
    layout from(me, source_side, src_buf, src_count, src_datadesc);
    layout to(me, dest_side, dest_buf, dest_count, dest_datadesc);
    if (!from.valid() || !to.valid()) return +CCS_FAILURE;
    if (from.size() != to.size())
      return refuse(me, "the source has %zu bytes and the destination %zu: both must have the same number", from.size(),
                    to.size());
    const size_t size = size_of(type);
    if (from.size() % size != 0)
      return refuse(me, "%zu bytes are no multiple of %zu, the size of a number", from.size(), size);
    if (!has_whole_numbers(me, "src_", from, size) || !has_whole_numbers(me, "dest_", to, size)) return +CCS_FAILURE;
    if (to.size() > 0 && (grain_of(to.whole()).places % alignment_of(type) != 0 || to.base() % alignment_of(type) != 0))
      return refuse(me, "a number at the destination is not aligned to %zu bytes, which atomic access needs",
                    alignment_of(type));
    scaling by;
    by.set(type, scale);
    if (to.size() == 0) {
      immediate_callback(p->due, callback, callback_arg).call();
      return +CCS_SUCCESS;
    }
    const span place = place_of(to);
    const auto begin = static_cast<uintptr_t>(place.begin);
    const int target = static_cast<int>(node);
    if (std::byte* const here = mapped_here(*p, me, target, begin, static_cast<uintptr_t>(place.end))) {
      immediate_callback at_end(p->due, callback, callback_arg);
      mapped_combiner(op, type, by, to.whole(), reinterpret_cast<uintptr_t>(here) + (to.base() - begin)).all(from);
      at_end.call();
      return +CCS_SUCCESS;
    }
    learn_key(*p, target, begin);
    auto todo = std::make_unique<operation>(*p, target, me, callback, callback_arg);
    todo->count_as(operation::counted::outstanding);
    wire::data_head head{};
    head.at = name_for(*p, target, to);
    head.total = to.size();
    head.combine = static_cast<uint32_t>(op);
    head.number = static_cast<uint32_t>(type);
    head.operation = todo->give_number();
    auto s = std::make_unique<sending>(*p, target, std::move(from), head);
    s->scale_by(type, scale);
    s->remote = std::move(to);
    p->sendings.begin(std::move(s));
    (void)todo.release();  // outstanding until the target answers
    return +CCS_SUCCESS;
  });
}

int CCS_put_indexed(CCS_node_t node, void* src, size_t bytes, void** remote_ptr, CCS_callback_t callback,
                    void* callback_arg) {
  constexpr const char* me = "CCS_put_indexed";
  return or_code(me, [&] {
    process* const p = current(me);
    if (p == nullptr || !is_node(*p, me, node)) return +CCS_FAILURE;
    if (src == nullptr && bytes > 0) return refuse(me, "src is NULL, but bytes = %zu", bytes);
    const auto pointer = reinterpret_cast<uintptr_t>(remote_ptr);
    if (pointer == 0 || pointer % alignof(void*) != 0)
      return refuse(me, "remote_ptr = %s, but must be the aligned address of a pointer",
                    lci::address_text(remote_ptr).text);
    auto todo = std::make_unique<operation>(*p, static_cast<int>(node), me, callback, callback_arg);
    auto body = std::make_unique<std::byte[]>(sizeof(wire::indexed_head) + bytes);
    todo->count_as(operation::counted::outstanding);
    const wire::indexed_head head{todo->give_number(), pointer};
    std::memcpy(body.get(), &head, sizeof head);
    if (bytes > 0) std::memcpy(body.get() + sizeof head, src, bytes);
    p->send(p->bulk, static_cast<int>(node), p->to_ccs, static_cast<lci::tag_t>(wire::kind::indexed), std::move(body),
            sizeof head + bytes);
    (void)todo.release();  // outstanding until the target answers
    return +CCS_SUCCESS;
  });
}
