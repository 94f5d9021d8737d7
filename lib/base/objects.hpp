// The objects behind handles: which are alive, and which were freed. So a copy of a handle whose object was
// freed is told from one that is good.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace lci {

/// Where an object comes from, for the report on those that were never freed.
struct object_origin {
  const char* operation = "";     // that has allocated it
  std::string name;               // attribute of the object
  const void* owner = nullptr;    // the runtime; null: none was named
  std::array<void*, 12> calls{};  // return addresses, innermost first
  int n_calls = 0;
};

/// All thread-safe, and not for fast paths: they take a lock.
namespace objects {

/// The object is alive from now on; until object_memory frees it.
void add(const void* object, object_origin origin);
bool is_alive(const void* object);
/// Whether an object was freed there while calls were checked. The last `most_remembered` are known.
bool was_freed(const void* object);
constexpr size_t most_remembered = 65536;
constexpr size_t most_bytes_remembered = size_t{64} << 20;  // the memory of freed objects stays taken

/// Objects of an owner that are still alive.
std::vector<object_origin> alive_of(const void* owner);

/// Objects of an owner that ends can't be freed any more: they are not alive.
void forget_those_of(const void* owner);

/// This thread is inside a call that works on the object, e.g. makes progress; false if the object was
/// freed, or another thread is about to free it.
bool enter(const void* object);
void leave(const void* object) noexcept;
/// This thread is about to free the object; false if another one is inside such a call.
bool begin_to_free(const void* object);
void end_to_free(const void* object) noexcept;

/// Throws std::bad_alloc.
void* allocate_memory(size_t size, size_t alignment);
/// Gives memory back, or keeps it so that nothing else comes to lie there. `always`: the object was added
/// whether calls are checked or not.
void release_memory(void* p, size_t size, size_t alignment, bool always) noexcept;

}  // namespace objects

/// Base class of `Object`s behind handles: where their memory goes. `always`: of rare objects, of which is
/// known at any time whether they are alive; of others only while calls are checked.
///
/// One pair of functions, whatever the alignment: where there is an operator new with one, and delete takes a size, a
/// constructor that throws finds no delete that fits, and the memory is lost.
template <class Object, bool always>
struct object_memory {
  static void* operator new(size_t size) { return objects::allocate_memory(size, alignof(Object)); }
  static void operator delete(void* p, size_t size) noexcept {
    objects::release_memory(p, size, alignof(Object), always);
  }
};

}  // namespace lci
