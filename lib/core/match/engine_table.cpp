#include "lib/core/match/engine_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "lib/base/check.hpp"

namespace lci::core {

engine_table::engine_table() : used_(1, true) {}  // 0 is no engine, so that a zeroed header refers to none

engine_table::~engine_table() {
  for (const early& e : early_) std::free(e.message);
}

uint16_t engine_table::add(matching_engine& engine) {
  std::lock_guard guard(lock_);
  const auto free = std::find(used_.begin(), used_.end(), false);
  const auto id = static_cast<uint16_t>(free - used_.begin());
  if (!is_number(id))
    throw_invalid("alloc_matching_engine", "number of engines", std::to_string(id), "below 65534", "free some");
  try {
    for (const early& e : early_)
      if (e.engine == id)
        (void)engine.insert(engine.make_key(e.message->peer, e.message->tag, e.policy), e.message,
                            matching_entry_type_t::send);  // matches nothing: no receive can have been posted yet
    if (free == used_.end()) used_.push_back(false);
    engines_.put(id, &engine);
  } catch (...) {
    engine.drain([](void*, matching_entry_type_t) {});  // after a failure the table still owns the messages
    throw;
  }
  used_[id] = true;
  std::erase_if(early_, [id](const early& e) { return e.engine == id; });
  return id;
}

void engine_table::remove(uint16_t id) {
  std::lock_guard guard(lock_);
  engines_.put(id, nullptr);
  used_[id] = false;
}

matching_engine* engine_table::store_early(uint16_t id, matching_policy_t policy, unexpected* message) {
  std::lock_guard guard(lock_);
  if (matching_engine* const engine = engines_.get(id)) return engine;
  early_.push_back({id, policy, message});
  return nullptr;
}

}  // namespace lci::core
