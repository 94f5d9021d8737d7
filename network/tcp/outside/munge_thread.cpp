#include "network/tcp/outside/munge_thread.hpp"

#include <dlfcn.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/quiet_thread.hpp"
#include "network/common/wake_event.hpp"
#include "network/tcp/outside/introductions.hpp"

namespace lci::network::outside {

namespace {

// How long the destructor waits for a call to munged, which usually takes half a millisecond.
constexpr std::chrono::milliseconds closing_limit{200};

/// The code of a detached thread must not be unloaded.
void keep_library_loaded() {
  Dl_info here;
  if (dladdr(reinterpret_cast<void*>(&keep_library_loaded), &here) != 0)
    (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

munge_answer answer_to(const credentials& keys, uint32_t ticket, const munge_request& r) noexcept {
  munge_answer a;
  a.ticket = ticket;
  try {
    a.theirs =
        r.their_role == nullptr ? confirmation::yes : keys.confirms(r.theirs, r.their_role, r.hello, r.of_server);
    if (a.theirs == confirmation::yes && r.own_role != nullptr) a.own = keys.vouch(r.own_role, r.hello, r.of_server);
  } catch (const std::bad_alloc&) {
    a.theirs = confirmation::unknown;
  }
  return a;
}

}  // namespace

struct munge_thread::shared_state {
  explicit shared_state(const credentials& k) : keys(k) {}

  struct entry {
    uint32_t ticket;
    munge_request what;
  };

  const credentials keys;
  wake_event answered{"tcp"};
  std::mutex mutex;
  std::condition_variable changed;
  std::list<entry> waiting;           // under mutex, the oldest first
  std::vector<munge_answer> answers;  // under mutex; has space for those of all requests
  uint32_t current = 0;               // under mutex: the ticket of the call to munged; 0: none, or it was cancelled
  bool busy = false;                  // under mutex: in a call to munged
  bool stop = false;                  // under mutex
};

munge_thread::munge_thread(const credentials& keys, int events, uint64_t mark)
    : state_(std::make_shared<shared_state>(keys)) {
  if (!watch(events, state_->answered.fd(), EPOLLIN, mark, true))
    throw resource_error(std::string("tcp: the answers of munged can't be watched: ") + std::strerror(errno));
}

munge_thread::~munge_thread() {
  bool ends = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    ends = state_->changed.wait_for(lock, closing_limit, [this] { return !state_->busy; });
  }
  if (!thread_.joinable()) return;
  if (ends) {
    thread_.join();
    return;
  }
  keep_library_loaded();
  thread_.detach();
}

uint32_t munge_thread::request(munge_request what) {
  if (!thread_.joinable()) thread_ = quiet_thread("lci-munge", [state = state_] { run(state); });
  if (++last_ticket_ == 0) ++last_ticket_;
  const std::lock_guard guard(state_->mutex);
  state_->answers.reserve(state_->answers.size() + state_->waiting.size() + 2);
  state_->waiting.push_back({last_ticket_, std::move(what)});
  state_->changed.notify_all();
  return last_ticket_;
}

void munge_thread::cancel(uint32_t ticket) {
  const std::lock_guard guard(state_->mutex);
  state_->waiting.remove_if([ticket](const shared_state::entry& e) { return e.ticket == ticket; });
  if (state_->current == ticket) state_->current = 0;
  auto& all = state_->answers;
  all.erase(std::remove_if(all.begin(), all.end(), [ticket](const munge_answer& a) { return a.ticket == ticket; }),
            all.end());
}

std::vector<munge_answer> munge_thread::take() {
  std::vector<munge_answer> all;
  const std::lock_guard guard(state_->mutex);
  all.reserve(state_->answers.size());
  state_->answered.clear();  // after the allocation, so that without memory the answers are reported again
  std::move(state_->answers.begin(), state_->answers.end(), std::back_inserter(all));
  state_->answers.clear();
  return all;
}

void munge_thread::run(const std::shared_ptr<shared_state>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->stop || !state->waiting.empty(); });
    if (state->stop) return;
    const shared_state::entry next = std::move(state->waiting.front());
    state->waiting.pop_front();
    state->current = next.ticket;
    state->busy = true;
    lock.unlock();
    munge_answer a = answer_to(state->keys, next.ticket, next.what);
    lock.lock();
    state->busy = false;
    if (state->stop) return state->changed.notify_all();
    if (std::exchange(state->current, 0) != next.ticket) continue;
    state->answers.push_back(std::move(a));
    state->answered.set();
  }
}

}  // namespace lci::network::outside
