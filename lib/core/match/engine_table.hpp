// The matching engines of a runtime by their numbers on the wire, and messages for engines not allocated yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "lci/types.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/match/unexpected.hpp"

namespace lci::core {

/// A message names its matching engine by a number. Numbers are reused lowest first, so that ranks that allocate and
/// free engines in the same order agree on them. A rank may send before the target has allocated the engine: such a
/// message is stored here until the engine is added.
///
/// Owns the stored messages, not the engines. Thread-safe: get() is lock-free, all other functions take a lock. No
/// engine is freed while the lock is held.
class engine_table {
 public:
  engine_table();
  ~engine_table();
  engine_table(const engine_table&) = delete;
  engine_table& operator=(const engine_table&) = delete;

  /// The engine of this number, or null.
  matching_engine* get(uint16_t id) const { return engines_.get(id); }

  /// Assigns a number to the engine and transfers the messages stored for that number to it. Throws, and changes
  /// nothing, if all numbers are used or memory runs out.
  uint16_t add(matching_engine& engine);
  /// Releases the engine's number. The caller frees the engine afterwards.
  void remove(uint16_t id);

  /// Returns whether an engine may have this number.
  static bool is_number(uint16_t id) { return id != 0 && id < wire::check_engine; }
  /// Stores a message for an engine that get() did not find, takes ownership of the message and returns null. If
  /// another thread has allocated the engine meanwhile, returns it and does not take ownership. Throws std::bad_alloc.
  [[nodiscard]] LCI_COLD matching_engine* store_early(uint16_t id, matching_policy_t policy, unexpected* message);

  template <class F>  // void(matching_engine&)
  void for_each(F f) {
    std::lock_guard guard(lock_);
    for (size_t i = 0; i < engines_.size(); ++i)
      if (matching_engine* const engine = engines_.get(i)) f(*engine);
  }
  /// Calls `wanted(message)` for the messages without a receive: those stored here, and those in the engines. Removes
  /// those for which it returns true, which then belong to the caller.
  template <class F>  // bool(unexpected&)
  LCI_COLD void remove_unexpected(const F& wanted) {
    std::lock_guard guard(lock_);
    std::erase_if(early_, [&](const early& e) { return wanted(*e.message); });
    const auto of_entry = [&](void* entry) { return wanted(*static_cast<unexpected*>(entry)); };
    for (size_t i = 0; i < engines_.size(); ++i)
      if (matching_engine* const engine = engines_.get(i))
        engine->remove_if(matching_entry_type_t::send, std::cref(of_entry));  // by reference: needs no memory
  }
  /// The same for the messages that are stored here for one engine.
  template <class F>  // bool(unexpected&)
  LCI_COLD void remove_stored(uint16_t id, const F& wanted) {
    std::lock_guard guard(lock_);
    std::erase_if(early_, [&](const early& e) { return e.engine == id && wanted(*e.message); });
  }

 private:
  struct early {
    uint16_t engine;
    matching_policy_t policy;
    unexpected* message;
  };

  std::mutex lock_;
  mpmc_array<matching_engine*> engines_;  // by number; written under lock_
  std::vector<bool> used_;                // under lock_
  std::vector<early> early_;              // in the order of arrival; under lock_
};

}  // namespace lci::core
