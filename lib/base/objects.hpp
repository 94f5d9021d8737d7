// The table of live and freed objects behind handles, by which stale copies of handles are recognised.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lci {

/// Where an object was allocated, for the report of leaks.
struct object_origin {
  const char* operation = "";     // the operation that allocated it
  std::string name;               // attribute of the object
  const void* owner = nullptr;    // the runtime; null: none was given
  std::array<void*, 12> calls{};  // return addresses, innermost first
  int n_calls = 0;
  bool is_part = false;  // of another object that the program frees
};

/// All functions are thread-safe, and take a lock: not for fast paths.
namespace objects {

/// The object is alive from now on, until object_memory frees it.
void add(const void* object, object_origin origin);
/// The object belongs to another one, which is reported if it is not freed.
void make_part(const void* object);
bool is_alive(const void* object);
/// Returns whether an object at this address was freed while calls were checked. The last `most_remembered` are known.
bool was_freed(const void* object);
constexpr size_t most_remembered = 65536;
constexpr size_t most_bytes_remembered = size_t{64} << 20;  // memory of freed objects that is not released

/// Live objects of an owner, without those that are parts of others.
std::vector<object_origin> alive_of(const void* owner);

/// Removes the objects of an owner that is being freed: they can't be freed any more.
void forget_those_of(const void* owner);

/// Records that this thread is inside a call that uses the object, e.g. progress(); false if the object was
/// freed, or another thread is freeing it.
bool enter(const void* object);
void leave(const void* object) noexcept;
/// Records that this thread is freeing the object; false if a thread is inside such a call.
bool begin_to_free(const void* object);
void end_to_free(const void* object) noexcept;

/// Throws std::bad_alloc.
void* allocate_memory(size_t size, size_t alignment);
/// Frees memory, or retains it so that no other object gets its address. `always`: the object was added
/// even if calls are not checked.
void release_memory(void* p, size_t size, size_t alignment, bool always) noexcept;

}  // namespace objects

/// Base class of `Object`s behind handles, with their operators new and delete. `always`: rare objects are always
/// tracked; others only while calls are checked.
///
/// One pair of functions for all alignments: with an aligned operator new and a sized delete, a constructor that throws
/// would find no matching delete, and the memory would leak.
template <class Object, bool always>
struct object_memory {
  static void* operator new(size_t size) { return objects::allocate_memory(size, alignof(Object)); }
  static void operator delete(void* p, size_t size) noexcept {
    objects::release_memory(p, size, alignof(Object), always);
  }
};

}  // namespace lci
