#include "lib/layers/na/waiting_posts.hpp"

#include <new>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {

void waiting_posts::open(uint32_t last) {
  of_.reset(static_cast<list*>(std::calloc(4 * (size_t{last} + 1), sizeof(list))));
  if (of_ == nullptr) throw std::bad_alloc();
}

waiting_posts::list& waiting_posts::list_of(const operation& op) const {
  const uint32_t kind = op.direct                                                          ? 2 + (op.tag & answer_bit)
                        : op.type.load(std::memory_order_relaxed) == NA_CB_SEND_UNEXPECTED ? 1
                                                                                           : 0;
  return of_[size_t{op.peer.rank} * 4 + kind];
}

bool waiting_posts::add(operation* op) {
  list& l = list_of(*op);
  op->next = nullptr;
  (l.first == nullptr ? l.first : l.last->next) = op;
  l.last = op;
  if (!l.is_used) {
    l.is_used = true;
    l.next_used = nullptr;
    (used_ == nullptr ? used_ : last_used_->next_used) = &l;
    last_used_ = &l;
  }
  return n_.fetch_add(1, std::memory_order_seq_cst) == 0;
}

void waiting_posts::start(na_class& c, operation* op) {
  if (!any() && c.post(op)) return;
  bool is_first = false;
  {
    const std::lock_guard guard(mutex_);
    if (list_of(*op).first == nullptr && c.post(op)) return;
    is_first = add(op);
  }
  // While the lists are not empty, the leader does not sleep for long.
  if (is_first) c.wake_leader();
}

void waiting_posts::post_some(na_class& c) {
  if (!any()) return;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return;  // another thread is doing this
  list* before = nullptr;
  for (list* l = used_; l != nullptr;) {
    while (l->first != nullptr) {
      operation* const op = l->first;
      operation* const after = op->next;  // a posted operation may complete and be reused at once
      try {
        if (!c.post(op)) break;
      } catch (const std::exception& e) {
        op->one_is_done.store(true, std::memory_order_relaxed);  // it was not posted
        c.finish(op, is_shortage(e) ? lci::errorcode_t::no_memory : lci::errorcode_t::fatal);
      }
      l->first = after;
      n_.fetch_sub(1, std::memory_order_relaxed);
    }
    list* const next = l->next_used;
    if (l->first != nullptr) {
      before = l;
    } else {
      l->is_used = false;
      (before == nullptr ? used_ : before->next_used) = next;
      if (last_used_ == l) last_used_ = before;
    }
    l = next;
  }
}

bool waiting_posts::remove(operation* op, na_op_id_t id) {
  const std::lock_guard guard(mutex_);
  for (list* l = used_; l != nullptr; l = l->next_used) {
    operation* before = nullptr;
    for (operation* i = l->first; i != nullptr; before = i, i = i->next) {
      if (i != op || operation_pool::id_of(*op) != id) continue;
      (before == nullptr ? l->first : before->next) = op->next;
      if (l->last == op) l->last = before;
      n_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

}  // namespace na
