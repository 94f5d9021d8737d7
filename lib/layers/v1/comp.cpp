#include "lib/layers/v1/comp.hpp"

#include <memory>
#include <new>
#include <string>

#include "lib/layers/v1/arrivals.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

class no_comp final : public comp {
 public:
  no_comp(kind k, uintptr_t no_handle) : comp(k, nullptr) { handle = no_handle; }

 private:
  void take(const LCI_request_t&) override {}
};

/// Replaces an object that was freed, in the checking mode.
class remains final : public comp {
 public:
  explicit remains(uintptr_t number) : comp(kind::freed, nullptr), number_(number) {}

 private:
  void take(const LCI_request_t& r) override {
    throw lci::invalid_argument_error(
        "a communication with rank " + std::to_string(r.rank) + " and tag " + std::to_string(r.tag) +
        " is complete, but its completion object " + std::to_string(number_) +
        " was freed: free completion objects when no posted receive, other communication or endpoint uses them");
  }
  const uintptr_t number_;
};

/// The request of a receive into a medium buffer.
LCI_ALWAYS_INLINE inline void write_medium(LCI_request_t& r, const lci::status_t& s) {
  begin_request(r, flag_of(s), s.rank, user_tag_of(s.tag), LCI_MEDIUM);
  r.data.mbuffer = {s.buffer, s.size};
  r.user_context = s.user_context;
}

}  // namespace

void comp_port::signal(lci::status_t s) {
  // The most common case: a receive into a medium buffer, with a synchronizer that is empty. It makes no call, so that
  // no registers need saving.
  thread_state* const mine = detail::tls_without_bell;
  if (LCI_LIKELY(!arrives_) && LCI_LIKELY(mine != nullptr) &&
      LCI_LIKELY(owner_.try_deliver_end([&s](LCI_request_t& r) { write_medium(r, s); })))
    return lci::increment_own(mine->of_id[id_of(s.tag)].delivered);
  signal_otherwise(s);
}

void comp_port::signal_otherwise(lci::status_t s) {
  if (arrives_) return arrive(owner_, s);
  thread_state& mine = my_state();
  const delivery_count counted(id_of(s.tag));
  owner_.deliver_end(mine, [&s](LCI_request_t& r) { write_medium(r, s); });
}

comp_table::comp_table()
    : freed_(new no_comp(comp::kind::freed, ~index_mask)),
      none_(new no_comp(comp::kind::none, index_mask)),
      objects_(64, freed_) {
  // NULL finds none_, and what a program might invent finds no object whose handle it equals.
  objects_.put(0, none_);
}

comp_table::~comp_table() {
  delete none_;
  delete freed_;
}

LCI_comp_t comp_table::add(comp* object) {
  std::unique_ptr<comp> owned(object);
  const lci::rcomp_t handle = lci::register_rcomp_x(lci::comp_t(&object->remote)).runtime(the_world().runtime)();
  owned->handle = handle;
  objects_.put(handle & index_mask, owned.get());
  owned.release();
  return reinterpret_cast<LCI_comp_t>(static_cast<uintptr_t>(handle));
}

void comp_table::remove(comp& object) {
  objects_.put(object.handle & index_mask, freed_);
  lci::deregister_rcomp_x(static_cast<lci::rcomp_t>(object.handle)).runtime(the_world().runtime)();
  if (LCI_LIKELY(!detail::checks)) {
    delete &object;
    return;
  }
  std::lock_guard guard(mutex_);
  remains_.push_back(&object);
  const uintptr_t number = object.handle;
  object.~comp();
  static_assert(sizeof(remains) <= sizeof(single_sync));
  new (&object) remains(number);
}

void comp_table::clear() {
  for (size_t i = objects_.size(); i-- > 1;)
    if (comp* c = objects_.get(i); c != freed_) remove(*c);
  std::lock_guard guard(mutex_);
  for (comp* c : remains_) {
    c->~comp();
    ::operator delete(static_cast<void*>(c), std::align_val_t(alignof(comp)));
  }
  remains_.clear();
}

}  // namespace v1
