#include "lib/layers/v1/unfinished.hpp"

#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/v1/storage.hpp"

namespace v1 {

namespace {
constinit lci::spinlock list_lock;
constinit V1_STORAGE unfinished* first = nullptr;  // the list of this rank; under list_lock
}  // namespace

unfinished::unfinished() {
  std::lock_guard guard(list_lock);
  next_ = first;
  if (next_ != nullptr) next_->previous_ = this;
  first = this;
}

unfinished::~unfinished() {
  std::lock_guard guard(list_lock);
  if (next_ != nullptr) next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : first) = next_;
}

void unfinished::free_all() {
  while (first != nullptr) delete first;  // the destructor takes the lock and removes the object from the list
}

}  // namespace v1
