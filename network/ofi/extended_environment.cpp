#include "network/ofi/extended_environment.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lci::network::ofi {

extended_environment::extended_environment(std::vector<std::string> more) : more_(std::move(more)) {}

/// The program's list, plus those of our variables that it lacks.
std::vector<char*> extended_environment::extended() {
  std::vector<char*> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) all.push_back(*each);
  const size_t own = all.size();
  for (std::string& each : more_) {
    const size_t name = each.find('=') + 1;
    const bool there = std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own),
                                   [&](const char* one) { return std::strncmp(one, each.data(), name) == 0; });
    if (!there) all.push_back(each.data());
  }
  all.push_back(nullptr);
  return all;
}

void extended_environment::open() {
  std::lock_guard guard(mutex_);
  if (windows_++ > 0) return;
  std::vector<char*> all = extended();
  if (lists_.empty() || lists_.back().all != all) lists_.push_back({nullptr, std::move(all)});
  lists_.back().own = environ;
  __atomic_store_n(&environ, lists_.back().all.data(), __ATOMIC_RELEASE);  // pairs with the loads of getenv()
}

void extended_environment::close() {
  std::lock_guard guard(mutex_);
  if (--windows_ > 0) return;
  // Unless another thread's setenv() has replaced the list meanwhile.
  char** expected = lists_.back().all.data();
  __atomic_compare_exchange_n(&environ, &expected, lists_.back().own, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

}  // namespace lci::network::ofi
