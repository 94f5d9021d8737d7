// Knows whose callbacks the calling thread runs, so that a callback can't destroy the object that has called it.
#pragma once

namespace lci {

/// While an object of this class exists, its thread runs callbacks of the owner. Thread-bound.
template <class Owner>
class callback_scope {
 public:
  explicit callback_scope(const Owner* of) : of_(of), outer_(innermost_) { innermost_ = this; }
  ~callback_scope() { innermost_ = outer_; }
  callback_scope(const callback_scope&) = delete;
  callback_scope& operator=(const callback_scope&) = delete;

  /// Returns true if the calling thread runs callbacks of the owner.
  static bool is_inside(const Owner* owner) {
    const callback_scope* s = innermost_;
    while (s != nullptr && s->of_ != owner) s = s->outer_;
    return s != nullptr;
  }

 private:
  static inline constinit thread_local const callback_scope* innermost_ = nullptr;
  const Owner* const of_;
  const callback_scope* const outer_;  // a callback may run those of another owner
};

}  // namespace lci
