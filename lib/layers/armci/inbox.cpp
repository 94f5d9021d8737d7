#include "lib/layers/armci/inbox.hpp"

#include <algorithm>
#include <cstring>

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

namespace {
struct message_head {
  uint64_t key;
};
}  // namespace

void inbox::send(int to, uint64_t key, const void* bytes, size_t size) {
  const message_head head{key};
  if (to == link_.me()) {
    std::vector<std::byte> whole(sizeof head + size);
    std::memcpy(whole.data(), &head, sizeof head);
    if (size > 0) std::memcpy(whole.data() + sizeof head, bytes, size);
    arrived(to, whole.data(), whole.size());
    return;
  }
  if (sizeof head + size > link_.packet_size()) {
    link_.send_long(to, &head, sizeof head, bytes, size);
    return;
  }
  packet p = link_.new_packet();
  p.add(head);
  if (size > 0) p.add(bytes, size);
  link_.send(to, link::box::inbox, std::move(p));
}

void inbox::send_of_group(const group& g, int to, uint64_t key, const void* bytes, size_t size) {
  try {
    send(to, key, bytes, size);
  } catch (const error&) {
    tell_of_failure(g, to);
    throw;
  }
}

void inbox::fill(receiver& r, int source, const std::byte* bytes, size_t size) {
  r.size = size;
  r.source = source;
  if (size > 0) std::memcpy(r.buffer, bytes, std::min(size, r.room));
  r.filled.store(true, std::memory_order_release);  // R1: pairs with A1 in receive()
}

void inbox::take_or_wait(receiver& mine) {
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(messages_.begin(), messages_.end(), [&](const message& m) {
    return m.key == mine.key && (mine.from < 0 || m.source == mine.from);
  });
  if (found == messages_.end()) {
    waiting_.push_back(&mine);
  } else {
    fill(mine, found->source, found->bytes.get(), found->size);
    messages_.erase(found);
  }
}

bool inbox::stop_waiting(receiver& mine) {
  const std::lock_guard guard(mutex_);
  waiting_.remove(&mine);
  return mine.filled.load(std::memory_order_acquire);  // A1
}

size_t inbox::receive(int from, uint64_t key, void* buffer, size_t room, int* source) {
  receiver mine{from, key, static_cast<std::byte*>(buffer), room};
  take_or_wait(mine);
  const auto filled = [&] { return mine.filled.load(std::memory_order_acquire); };  // A1
  if (!(from < 0 ? link_.wait_for_any(filled) : link_.wait(from, filled)) && !stop_waiting(mine)) {
    if (from >= 0) throw_failed(from);
    throw error(peer_failure, "all other processes have failed, so none can send a message");
  }
  if (source != nullptr) *source = mine.source;
  return mine.size;
}

void inbox::receive_of_group(const group& g, int from, uint64_t key, void* buffer, size_t room) {
  receiver mine{from, key, static_cast<std::byte*>(buffer), room};
  take_or_wait(mine);
  int failed = -1;
  const bool done = link_.wait(from, [&] {
    return mine.filled.load(std::memory_order_acquire) ||  // A1
           (LCI_UNLIKELY(any_broken_.load(std::memory_order_acquire)) && (failed = failed_member(g)) >= 0);
  });
  if (LCI_LIKELY(done && failed < 0)) return;
  if (stop_waiting(mine)) return;
  if (failed < 0) failed = from;
  tell_of_failure(g, failed);
  throw_failed(failed);
}

int inbox::failed_member(const group& g) {
  const std::lock_guard guard(mutex_);
  int failed = -1;
  for (const message& m : messages_)
    if (m.key == key_of(g.key, is_broken) && m.size == sizeof failed)
      std::memcpy(&failed, m.bytes.get(), sizeof failed);
  return failed;
}

void inbox::tell_of_failure(const group& g, int failed) noexcept {
  for (const int member : g.members) {
    if (member == link_.me() || link_.has_failed(member)) continue;
    try {
      insist([&] { send(member, key_of(g.key, is_broken), &failed, sizeof failed); });
    } catch (const std::exception&) {
      // It has failed as well, or is told by others.
    }
  }
}

void inbox::arrived(int source, const std::byte* bytes, size_t size) noexcept {
  message_head head;
  if (size < sizeof head) return;
  std::memcpy(&head, bytes, sizeof head);
  bytes += sizeof head;
  size -= sizeof head;
  {
    const std::lock_guard guard(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const receiver* r) {
      return r->key == head.key && (r->from < 0 || r->from == source);
    });
    if (found == waiting_.end()) {
      const bool says_broken = (head.key & key_of(0, is_broken)) == key_of(0, is_broken);
      const auto same = [&](const message& m) { return m.key == head.key; };
      // One such message is enough. It stays, as later operations of the group need it, too.
      if (LCI_UNLIKELY(says_broken) && std::any_of(messages_.begin(), messages_.end(), same)) return;
      try {
        insist([&] { messages_.push_back({source, head.key, size, std::make_unique<std::byte[]>(size)}); });
        if (size > 0) std::memcpy(messages_.back().bytes.get(), bytes, size);
      } catch (const std::bad_alloc&) {
        end_job("a message", "no memory is left to store it", 1);
      }
      if (LCI_LIKELY(!says_broken)) return;
      any_broken_.store(true, std::memory_order_release);
    } else {
      receiver* const r = *found;
      waiting_.erase(found);
      fill(*r, source, bytes, size);
    }
  }
  link_.something_happened();
}

}  // namespace armci_layer
