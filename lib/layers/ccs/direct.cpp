// Operations by remote access of the network. An operation is split at the borders of the target's registrations, and
// into pieces that are packed where the local side is not contiguous.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/remote_memory.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

namespace {

/// A posted piece of an operation: its packed bytes [from, from + size).
struct piece {
  direct_operation* op;
  remote_key* key;
  size_t from, size;
  std::unique_ptr<std::byte[]> packed{};  // null if the local side is contiguous

  void* base() const { return reinterpret_cast<void*>(op->local.base()); }
  /// Takes the operation's spare buffer or a new one; packs the data of a put. Throws std::bad_alloc.
  void pack_data() {
    packed = op->spare != nullptr ? std::move(op->spare)
                                  : std::unique_ptr<std::byte[]>(new std::byte[direct_operation::packed_piece]);
    if (op->is == direct_operation::what::put) pack(op->local.whole(), base(), from, size, packed.get());
  }
  /// Unpacks the data of a get that has arrived.
  void unpack_data() const {
    if (packed != nullptr && op->is == direct_operation::what::get)
      unpack(op->local.whole(), base(), from, size, packed.get());
  }
};

void end_piece(direct_operation* op) {
  // A1: pairs with the other threads' decrements, so that the last one sees their writes.
  if (op->pieces.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(std::unique_ptr<operation>(op));
}

class piece_end : public lci::comp_impl_t {
 public:
  void signal(lci::status_t s) override {
    const std::unique_ptr<piece> p(static_cast<piece*>(s.user_context));
    direct_operation* const op = p->op;
    if (!s.is_done())
      fail(op->function, "node %d has failed, or its memory can't be accessed (%s)", op->node, s.error.get_str());
    p->unpack_data();
    release_key(op->of, op->node, p->key);
    end_piece(op);
  }
};
piece_end& ending() {
  static piece_end one;
  return one;
}

lci::status_t post(const direct_operation& op, const remote_key& key, piece* context) {
  process& p = op.of;
  const size_t n = context->size;
  void* const here = context->packed != nullptr ? context->packed.get() : reinterpret_cast<void*>(op.here + op.begun);
  const uintptr_t offset = op.there + op.begun - key.begin;
  const lci::comp_t comp(&ending());
  switch (op.is) {
    case direct_operation::what::put:
      return lci::post_put_x(op.node, here, n, comp, offset, key.rmr)
          .device(p.device)
          .comp_semantic(lci::comp_semantic_t::remote)
          .allow_retry(false)
          .user_context(context)();
    case direct_operation::what::get:
      return lci::post_get_x(op.node, here, n, comp, offset, key.rmr)
          .device(p.device)
          .allow_retry(false)
          .user_context(context)();
    default:
      break;
  }
  static constexpr lci::atomic_op_t ops[] = {lci::atomic_op_t::swap, lci::atomic_op_t::compare_swap,
                                             lci::atomic_op_t::add, lci::atomic_op_t::fetch, lci::atomic_op_t::store};
  return lci::post_atomic_x(op.node, ops[op.atomic], &op.value, here, comp, offset, key.rmr)
      .device(p.device)
      .compare(&op.compare)
      .allow_retry(false)
      .user_context(context)();
}

/// Requests the key of the next piece, and moves the operation to the peer's list until the key arrives. Throws if
/// there is no memory; then `op` is unchanged.
void ask_for_key(std::unique_ptr<direct_operation>& op) {
  process& p = op->of;
  const int node = op->node;
  peer& of = p.peers[static_cast<size_t>(node)];
  const wire::key_request request{op->there + op->begun};
  const direct_operation* const waits = op.get();
  {
    std::lock_guard guard(of.key_lock);
    of.waiting_for_key.push(std::move(op));
  }
  try {
    p.send(p.ordered, node, wire::kind::key_request, request);
  } catch (...) {
    {
      std::lock_guard guard(of.key_lock);
      op = of.waiting_for_key.take_if([=](const direct_operation& o) { return &o == waits; });
    }
    if (op != nullptr) throw;
    // Otherwise a key that another operation had requested arrived meanwhile, and its receiver took `op`.
  }
}

/// Posts the next piece of the operation. The caller has counted it as a user of the key. Throws if there is no memory;
/// then nothing was posted.
void post_piece(direct_operation& op, remote_key& key) {
  size_t n = std::min(op.size - op.begun, key.end - (op.there + op.begun));
  if (op.packs) n = std::min(n, direct_operation::packed_piece);
  auto context = std::make_unique<piece>(piece{&op, &key, op.begun, n});
  if (op.packs) context->pack_data();
  op.pieces.fetch_add(1, std::memory_order_relaxed);
  lci::status_t s;
  try {
    s = post(op, key, context.get());
  } catch (...) {
    op.pieces.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  op.begun += n;
  if (s.is_posted()) return (void)context.release();
  context->unpack_data();
  op.spare = std::move(context->packed);
  release_key(op.of, op.node, &key);
  op.pieces.fetch_sub(1, std::memory_order_relaxed);
}

/// Posts the next piece. Without its key, requests the key instead and sets `op` to null.
void take_step(std::unique_ptr<direct_operation>& op) {
  key_cache& keys = op->of.peers[static_cast<size_t>(op->node)].keys;
  remote_key* const key = keys.take(op->there + op->begun);
  if (key == nullptr) return ask_for_key(op);
  try {
    post_piece(*op, *key);
  } catch (...) {
    release_key(op->of, op->node, key);
    throw;
  }
}

}  // namespace

void release_key(process& p, int node, remote_key* key) {
  uint64_t region = 0;
  if (p.peers[static_cast<size_t>(node)].keys.release(key, region))
    p.answer(p.ordered, node, wire::kind::key_released, wire::key_name{region});
}

void learn_key(process& p, int node, uintptr_t address) {
  if (!p.peers[static_cast<size_t>(node)].keys.knows(address))
    p.send(p.ordered, node, wire::kind::key_request, wire::key_request{address});
}

void advance(std::unique_ptr<direct_operation>& op) {
  while (op->begun < op->size) {
    if (op->begun == 0)
      take_step(op);
    else
      insist(op->function, [&] { take_step(op); });
    if (op == nullptr) return;
  }
  end_piece(op.release());
}

void go_on_with_key(process& p, int node, const wire::key_reply& reply) {
  peer& of = p.peers[static_cast<size_t>(node)];
  if (reply.region != 0) {
    remote_key key;
    key.region = reply.region;
    key.begin = reply.begin;
    key.end = reply.end;
    key.rmr = reply.rmr;
    key.here = static_cast<std::byte*>(lci::get_shared_address_x(node, reply.rmr).device(p.device)());
    of.keys.add(key);
  }
  const auto is_ready = [&](const direct_operation& op) {
    const uint64_t next = op.there + op.begun;
    return next == reply.address || (next >= reply.begin && next < reply.end);
  };
  chain<direct_operation> ready;
  {
    std::lock_guard guard(of.key_lock);
    while (std::unique_ptr<direct_operation> op = of.waiting_for_key.take_if(is_ready)) ready.push(std::move(op));
  }
  while (std::unique_ptr<direct_operation> op = ready.pop()) {
    if (reply.region == 0) fail_unregistered(op->function, node, reply.address);
    insist(op->function, [&] { advance(op); });
  }
}

}  // namespace ccs
