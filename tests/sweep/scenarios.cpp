#include "tests/sweep/scenarios.hpp"

#include <cstdio>
#include <cstring>

#include "tests/sweep/scene.hpp"

namespace sweep {

namespace {

struct named {
  const char* name;
  scenario play;
};
constexpr named all[] = {
#define NAMED(name) \
  { #name, name }
    NAMED(am),
    NAMED(am_kept),
    NAMED(am_queue),
    NAMED(am_network),
    NAMED(am_remote),
    NAMED(am_remote_backlog),
    NAMED(send),
    NAMED(send_backlog),
    NAMED(send_late),
    NAMED(send_remote),
    NAMED(send_remote_late),
    NAMED(stream),
    NAMED(stream_window),
    NAMED(stream_remote),
    NAMED(put),
    NAMED(put_signal),
    NAMED(get),
    NAMED(get_signal),
    NAMED(atomic),
    NAMED(layout),
    NAMED(resources),
    NAMED(registration),
    NAMED(device),
    NAMED(engine),
    NAMED(collectives),
    NAMED(graph),
    NAMED(cancelling),
#undef NAMED
};

}  // namespace

scenario find_scenario(const char* name) {
  for (const named& s : all)
    if (std::strcmp(s.name, name) == 0) return s.play;
  return nullptr;
}

void list_scenarios() {
  std::printf("start\nend\n");
  for (const named& s : all) std::printf("%s\n", s.name);
}

}  // namespace sweep
