// The memory of objects behind handles.
#include "lib/base/objects.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "lib/base/cpu.hpp"

namespace {

const void* last_made = nullptr;

/// Its constructor throws after it has registered the object.
template <size_t alignment>
struct alignas(alignment) unfinished_object : lci::object_memory<unfinished_object<alignment>, true> {
  explicit unfinished_object(bool throws) {
    last_made = this;
    lci::objects::add(this, {});
    if (throws) throw std::runtime_error("a constructor's");
  }
  char content[100] = {};
};

template <size_t alignment>
void make_and_free() {
  using object = unfinished_object<alignment>;
  CHECK_THROWS_AS(std::make_unique<object>(true), std::runtime_error);
  CHECK(!lci::objects::is_alive(last_made));
  auto whole = std::make_unique<object>(false);
  CHECK(reinterpret_cast<uintptr_t>(whole.get()) % alignment == 0);
  CHECK(lci::objects::is_alive(whole.get()));
  whole.reset();
  CHECK(!lci::objects::is_alive(last_made));
}

}  // namespace

TEST_CASE("the memory of an object whose constructor throws is freed, whatever its alignment", "[unit]") {
  make_and_free<alignof(void*)>();
  make_and_free<lci::cache_line>();
  make_and_free<4096>();
}
