// The objects that the checking mode knows. It finds handles of freed objects, and addresses that are no handles.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace v1 {

/// The kind of each object that exists or was freed, by address. A later object may have the address of a freed one.
/// A member of the world; does not own the objects. Thread-safe.
class handle_table {
 public:
  enum class kind : uint8_t { device, endpoint, plist, segment, collective, memory };
  enum class state : uint8_t { unknown, live, freed };

  void add(const void* p, kind what) {
    std::lock_guard guard(mutex_);
    live_[p] = what;
    freed_.erase(p);
  }
  void remove(const void* p) {
    std::lock_guard guard(mutex_);
    const auto found = live_.find(p);
    if (found == live_.end()) return;
    freed_[p] = found->second;
    live_.erase(found);
  }
  /// The state of the object of this kind at the address; `unknown` if only objects of other kinds had the address.
  state find(const void* p, kind what) const {
    std::lock_guard guard(mutex_);
    if (const auto found = live_.find(p); found != live_.end() && found->second == what) return state::live;
    const auto before = freed_.find(p);
    return before != freed_.end() && before->second == what ? state::freed : state::unknown;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, kind> live_;   // under mutex_
  std::unordered_map<const void*, kind> freed_;  // under mutex_
};

}  // namespace v1
