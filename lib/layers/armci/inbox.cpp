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

void inbox::fill(receiver& r, int source, const std::byte* bytes, size_t size) {
  r.size = size;
  r.source = source;
  if (size > 0) std::memcpy(r.buffer, bytes, std::min(size, r.room));
  r.filled.store(true, std::memory_order_release);  // R1: pairs with A1 in receive()
}

size_t inbox::receive(int from, uint64_t key, void* buffer, size_t room, int* source) {
  receiver mine{from, key, static_cast<std::byte*>(buffer), room};
  {
    const std::lock_guard guard(mutex_);
    const auto found = std::find_if(messages_.begin(), messages_.end(),
                                    [&](const message& m) { return m.key == key && (from < 0 || m.source == from); });
    if (found == messages_.end()) {
      waiting_.push_back(&mine);
    } else {
      fill(mine, found->source, found->bytes.get(), found->size);
      messages_.erase(found);
    }
  }
  const bool got = link_.wait(from, [&] { return mine.filled.load(std::memory_order_acquire); });  // A1
  if (!got) {
    std::unique_lock guard(mutex_);
    waiting_.remove(&mine);
    if (!mine.filled.load(std::memory_order_acquire)) throw_failed(from);  // A1
  }
  if (source != nullptr) *source = mine.source;
  return mine.size;
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
      try {
        message m{source, head.key, size, std::make_unique<std::byte[]>(size)};
        if (size > 0) std::memcpy(m.bytes.get(), bytes, size);
        messages_.push_back(std::move(m));
      } catch (const std::bad_alloc&) {
        end_job("a message", "no memory is left to store it", 1);
      }
      return;
    }
    receiver* const r = *found;
    waiting_.erase(found);
    fill(*r, source, bytes, size);
  }
  link_.something_happened();
}

}  // namespace armci_layer
