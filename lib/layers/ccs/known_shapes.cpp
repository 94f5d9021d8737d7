#include "lib/layers/ccs/known_shapes.hpp"

#include <utility>

#include "lib/layers/ccs/description.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"

namespace ccs {

bool known_shapes::has(uint64_t id, int node) {
  std::lock_guard guard(lock_);
  const auto at = known_.find(id);
  return at != known_.end() && at->second[static_cast<size_t>(node)];
}

void known_shapes::prepare(uint64_t id, int n_nodes) {
  std::vector<bool> nobody(static_cast<size_t>(n_nodes));  // before the entry: has() relies on its size
  std::lock_guard guard(lock_);
  known_.try_emplace(id, std::move(nobody));
}

void known_shapes::add(uint64_t id, int node) noexcept {
  std::lock_guard guard(lock_);
  known_.find(id)->second[static_cast<size_t>(node)] = true;
}

std::vector<int> known_shapes::remove(uint64_t id) {
  std::vector<int> nodes;
  std::lock_guard guard(lock_);
  const auto at = known_.find(id);
  if (at == known_.end()) return nodes;
  for (size_t node = 0; node < at->second.size(); ++node)
    if (at->second[node]) nodes.push_back(static_cast<int>(node));
  known_.erase(at);
  return nodes;
}

bool foreign_shapes::add(const std::byte* body, size_t size) {
  wire::shape_head head;
  if (!wire::take(body, size, head)) return false;
  entry e;
  e.extent = head.extent;
  const std::byte* const end = body + size;
  if (!read_shape(body, end, e.s)) return false;
  shapes_[head.id] = std::move(e);
  return true;
}

bool foreign_shapes::find(const wire::remote_layout& at, shape& s) const {
  if (at.shape == 0) {
    s = make_run(0, at.count);
    return at.count <= PTRDIFF_MAX;
  }
  const auto known = shapes_.find(at.shape);
  size_t size = 0;
  if (known == shapes_.end() || __builtin_mul_overflow(known->second.s.size, at.count, &size)) return false;
  s = make_loop(at.count, known->second.extent, known->second.s);
  return true;
}

wire::remote_layout name_for(process& p, int node, const layout& l) {
  if (l.is_contiguous()) return {l.begin(), l.size(), 0};
  const description& d = *l.made();
  if (!p.shapes.has(d.id, node)) {
    std::vector<std::byte> bytes(sizeof(wire::shape_head));
    const wire::shape_head head{d.id, d.about.extent()};
    std::memcpy(bytes.data(), &head, sizeof head);
    append_to(bytes, d.about.bytes);
    auto body = std::make_unique<std::byte[]>(bytes.size());
    std::memcpy(body.get(), bytes.data(), bytes.size());
    p.shapes.prepare(d.id, p.size);
    p.send(p.bulk, node, p.to_ccs, static_cast<lci::tag_t>(wire::kind::shape), std::move(body), bytes.size());
    p.shapes.add(d.id, node);
  }
  return {l.base(), l.count(), d.id};
}

void forget_shape(uint64_t id) noexcept {
  process* const p = the_process.load(std::memory_order_acquire);
  if (p == nullptr) return;
  const std::vector<int> nodes = insist("CCS_datadesc_free", [&] { return p->shapes.remove(id); });
  for (const int node : nodes) p->answer(p->bulk, node, wire::kind::shape_ended, wire::shape_name{id});
}

}  // namespace ccs
