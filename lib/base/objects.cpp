#include "lib/base/objects.hpp"

#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "lib/base/call_watch.hpp"

namespace lci::objects {

namespace {

struct kept_memory {
  void* at;
  size_t size, alignment;
};

struct object_table {
  std::mutex mutex;
  // All under mutex.
  std::unordered_map<const void*, object_origin> alive;
  std::unordered_map<const void*, int> in_use;                   // by how many threads
  std::unordered_map<const void*, std::thread::id> being_freed;  // by which thread
  std::unordered_set<const void*> freed;
  std::list<kept_memory> kept;  // memory of freed objects, oldest first
  size_t kept_bytes = 0;
};

// Never destroyed, since destructors of the program's static objects may free objects. Created without an allocation,
// since its first use may be the release of an object whose allocation failed.
object_table& the_table() noexcept {
  alignas(object_table) static unsigned char memory[sizeof(object_table)];
  static object_table& b = *new (memory) object_table;
  return b;
}

void give_back(const kept_memory& m) noexcept {
  if (m.alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
    ::operator delete(m.at, std::align_val_t(m.alignment));
  else
    ::operator delete(m.at);
}

/// Returns false if it could not be retained.
bool keep(object_table& b, const kept_memory& m) noexcept {
  try {
    b.freed.insert(m.at);
    b.kept.push_back(m);
  } catch (const std::bad_alloc&) {
    b.freed.erase(m.at);
    return false;
  }
  // Filled with ones, a freed device permits no direct path (device_front::not_plain).
  std::memset(m.at, 0xff, m.size);
  b.kept_bytes += m.size;
  while (b.kept.size() > most_remembered || b.kept_bytes > most_bytes_remembered) {
    const kept_memory oldest = b.kept.front();
    b.kept.pop_front();
    b.kept_bytes -= oldest.size;
    b.freed.erase(oldest.at);
    give_back(oldest);
  }
  return true;
}

}  // namespace

void add(const void* object, object_origin origin) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  b.alive[object] = std::move(origin);
}

void make_part(const void* object) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  if (const auto at = b.alive.find(object); at != b.alive.end()) at->second.is_part = true;
}

bool is_alive(const void* object) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  return b.alive.count(object) != 0;
}

bool was_freed(const void* object) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  return b.freed.count(object) != 0;
}

std::vector<object_origin> alive_of(const void* owner) {
  object_table& b = the_table();
  std::vector<object_origin> found;
  std::lock_guard guard(b.mutex);
  for (const auto& [object, origin] : b.alive)
    if (origin.owner == owner && !origin.is_part) found.push_back(origin);
  return found;
}

void forget_those_of(const void* owner) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  for (auto at = b.alive.begin(); at != b.alive.end();)
    at = at->second.owner == owner ? b.alive.erase(at) : std::next(at);
}

bool enter(const void* object) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  if (b.freed.count(object) != 0) return false;
  const auto freeing = b.being_freed.find(object);
  if (freeing != b.being_freed.end() && freeing->second != std::this_thread::get_id()) return false;
  ++b.in_use[object];
  return true;
}

void leave(const void* object) noexcept {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  const auto at = b.in_use.find(object);
  if (at != b.in_use.end() && --at->second == 0) b.in_use.erase(at);
}

bool begin_to_free(const void* object) {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  if (b.in_use.count(object) != 0) return false;
  b.being_freed[object] = std::this_thread::get_id();
  return true;
}

void end_to_free(const void* object) noexcept {
  object_table& b = the_table();
  std::lock_guard guard(b.mutex);
  b.being_freed.erase(object);
}

void* allocate_memory(size_t size, size_t alignment) {
  return alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? ::operator new(size, std::align_val_t(alignment))
                                                      : ::operator new(size);
}

void release_memory(void* p, size_t size, size_t alignment, bool always) noexcept {
  const kept_memory m{p, size, alignment};
  const bool checked = watched_for(calls_are_checked);
  if (p != nullptr && (always || checked)) {
    try {
      object_table& b = the_table();
      std::lock_guard guard(b.mutex);
      b.alive.erase(p);
      if (checked && keep(b, m)) return;
    } catch (const std::bad_alloc&) {
      // The table could not be allocated, so it contains no object.
    }
  }
  give_back(m);
}

}  // namespace lci::objects
