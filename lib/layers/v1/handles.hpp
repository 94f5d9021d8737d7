// What the checking mode knows of handles that are addresses of objects.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace v1 {

/// Live and freed objects by address. An address that was freed may be that of another object later. Part of the world.
/// Thread-safe.
class handle_table {
 public:
  enum class thing : uint8_t { device, endpoint, plist, segment };
  enum class state : uint8_t { unknown, live, freed };

  void add(const void* p, thing what) {
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
  /// Of an object of this kind; `unknown` also if the address is that of another kind.
  state find(const void* p, thing what) const {
    std::lock_guard guard(mutex_);
    if (const auto found = live_.find(p); found != live_.end() && found->second == what) return state::live;
    const auto before = freed_.find(p);
    return before != freed_.end() && before->second == what ? state::freed : state::unknown;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, thing> live_;   // under mutex_
  std::unordered_map<const void*, thing> freed_;  // under mutex_
};

}  // namespace v1
