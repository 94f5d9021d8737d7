// Reasons of failures, which are reported even if there is no memory for their text.
#pragma once

#include <memory>
#include <new>
#include <string>

namespace lci::network {

/// The text that `make` returns; empty if there is no memory for it.
template <class F>
std::string text_if_memory(F make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Returns null if there is no memory.
inline std::unique_ptr<std::string> copy_if_memory(const std::string& text) noexcept {
  try {
    return std::make_unique<std::string>(text);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

inline const char* text_of(const std::unique_ptr<std::string>& reason) {
  return reason == nullptr || reason->empty() ? "there was no memory to note the reason" : reason->c_str();
}

}  // namespace lci::network
