// A library of the system that is loaded at run time, since not every system has it.
#pragma once

#include <dlfcn.h>

#include <initializer_list>
#include <string>

namespace lci {

/// Loads a shared library and finds its functions. The library stays loaded when the object is destroyed, so that the
/// functions can still be called. Used by one thread at a time.
class loaded_library {
 public:
  /// Loads the first of `names` that the system has, with these flags of dlopen().
  explicit loaded_library(std::initializer_list<const char*> names, int flags = RTLD_NOW | RTLD_LOCAL) {
    for (const char* const name : names) {
      handle_ = dlopen(name, flags);
      if (handle_ != nullptr) {
        name_ = name;
        missing_.clear();
        return;
      }
      missing_ += (missing_.empty() ? "" : "; ") + std::string(dlerror());
    }
  }

  /// The reason why the library or a function is missing; empty if everything has been found.
  const std::string& missing() const { return missing_; }

  /// Sets `function` to the library's function of this name. Sets it to null if there is none; missing() then says so.
  template <class F>
  void find(const char* function_name, F& function) {
    function = handle_ == nullptr ? nullptr : reinterpret_cast<F>(dlsym(handle_, function_name));
    if (function == nullptr && missing_.empty()) missing_ = name_ + " has no " + function_name;
  }

 private:
  void* handle_ = nullptr;
  std::string name_, missing_;
};

}  // namespace lci
