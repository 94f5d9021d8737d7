// Detection of invalid pointers that C programs pass to a layer.
#pragma once

#include <cstdint>

namespace layers {

/// Base class of objects that C programs refer to by void*. Its member holds `Kind`, a number that differs between
/// classes, while the object is alive. So is_alive() detects most pointers that are invalid. Not copyable. Thread-safe
/// except for the destructor and set_alive().
template <uint32_t Kind>
class c_object {
 public:
  c_object() = default;
  c_object(const c_object&) = delete;
  c_object& operator=(const c_object&) = delete;
  bool is_alive() const { return kind_ == Kind; }

 protected:
  ~c_object() { kind_ = 0; }
  /// For objects in a pool: false while the object is free, so that a program's use of it is detected.
  void set_alive(bool alive) { kind_ = alive ? Kind : 0; }

 private:
  volatile uint32_t kind_ = Kind;  // volatile, so that the store in the destructor is not removed
};

}  // namespace layers
