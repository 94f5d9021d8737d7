#include "lib/layers/na/waiting_posts.hpp"

#include "lib/layers/na/class.hpp"

namespace na {

uint32_t waiting_posts::list_of(const operation& op) {
  if (op.direct) return op.peer.rank * 4 + 2 + (op.tag & answer_bit);
  return op.peer.rank * 4 + (op.type.load(std::memory_order_relaxed) == NA_CB_SEND_UNEXPECTED ? 1 : 0);
}

bool waiting_posts::add(operation* op) {
  list& l = of_[list_of(*op)];
  op->next = nullptr;
  (l.first == nullptr ? l.first : l.last->next) = op;
  l.last = op;
  return n_.fetch_add(1, std::memory_order_seq_cst) == 0;
}

void waiting_posts::start(na_class& c, operation* op) {
  if (!any() && c.post(op)) return;
  bool is_first = false;
  {
    const std::lock_guard guard(mutex_);
    if (of_.count(list_of(*op)) == 0 && c.post(op)) return;
    is_first = add(op);
  }
  // While the lists are not empty, the leader does not sleep for long.
  if (is_first) c.wake_leader();
}

void waiting_posts::post_some(na_class& c) {
  if (!any()) return;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return;  // another thread is doing this
  for (auto i = of_.begin(); i != of_.end();) {
    list& l = i->second;
    while (l.first != nullptr) {
      operation* const op = l.first;
      operation* const after = op->next;  // a posted operation may complete and be reused at once
      try {
        if (!c.post(op)) break;
      } catch (const std::exception&) {
        op->one_is_done.store(true, std::memory_order_relaxed);  // it was not posted
        c.finish(op, lci::errorcode_t::fatal);
      }
      l.first = after;
      n_.fetch_sub(1, std::memory_order_relaxed);
    }
    i = l.first == nullptr ? of_.erase(i) : std::next(i);
  }
}

bool waiting_posts::remove(operation* op, na_op_id_t id) {
  const std::lock_guard guard(mutex_);
  for (auto of = of_.begin(); of != of_.end(); ++of) {
    list& l = of->second;
    operation* before = nullptr;
    for (operation* i = l.first; i != nullptr; before = i, i = i->next) {
      if (i != op || operation_pool::id_of(*op) != id) continue;
      (before == nullptr ? l.first : before->next) = op->next;
      if (l.last == op) l.last = before;
      if (l.first == nullptr) of_.erase(of);
      n_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace na
