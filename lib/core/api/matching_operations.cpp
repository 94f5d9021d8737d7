// Allocating and freeing matching engines, and inserting the program's own values.
#include <memory>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/api/handle_checks.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

matching_engine_t alloc_matching_engine(alloc_matching_engine_args& a) {
  auto engine = std::make_unique<matching_engine>(a.attr);
  engine->runtime = a.runtime;
  engine->id = a.runtime.p_impl->engines.add(*engine);
  return engine.release();
}

void free_matching_engine(free_matching_engine_args& a) {
  check_allocated("free_matching_engine", "matching_engine", a.matching_engine);
  const runtime& of = *a.matching_engine->p_impl->runtime.p_impl;
  refuse_default("free_matching_engine", "matching_engine", a.matching_engine, of.default_matching_engine);
  refuse_default("free_matching_engine", "matching_engine", a.matching_engine, of.default_coll_matching_engine);
  matching_engine* engine = take("free_matching_engine", "matching_engine", a.matching_engine);
  runtime& rt = *engine->runtime.p_impl;
  rt.engines.remove(engine->id);
  rt.discard_entries(*engine);  // values inserted by the user are stored separately and belong to the user
  delete engine;
}

matching_entry_val_t matching_engine_insert(matching_engine_insert_args& a) {
  if (a.value == nullptr)
    throw_invalid("matching_engine_insert", "value", "nullptr", "an address", "null means no match");
  if (a.entry_type != matching_entry_type_t::send && a.entry_type != matching_entry_type_t::recv)
    throw_invalid("matching_engine_insert", "entry_type", std::to_string(static_cast<int>(a.entry_type)),
                  "send or recv");
  return a.matching_engine.p_impl->of_user().insert(a.key, a.value, a.entry_type);
}

}  // namespace lci::core
