// Memory that the two ranks of a scenario share without the library: the state and the results of each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace sweep {

constexpr int most_messages = 64;

/// The result of a message at one end.
enum class outcome : uint8_t { none, refused, good, failed };

struct board {
  std::atomic<int> attached;
  std::array<std::atomic<int>, 2> arrived;     // number of calls of meet()
  std::array<std::atomic<int>, 2> exceptions;  // number of exceptions thrown by progress()
  std::array<std::atomic<int>, 2> lost;        // the failure of the other rank was reported to this rank
  std::array<std::atomic<int>, 2> ended;       // the rank has ended its part of the scenario
  std::array<std::atomic<int>, 2> flows;       // number of calls of flow() whose outcomes are none at first
  std::atomic<int> posted;
  std::atomic<int> broken;  // a peer failure was reported, caused by a fault that may break the connection
  std::array<std::array<std::atomic<outcome>, most_messages>, 2> outcomes;
  std::array<std::atomic<uint64_t>, 16> words;  // handles, by the rank that owns them
  struct key {
    unsigned char bytes[64];
  };
  std::array<key, most_messages> keys;  // of rank 1's windows
};

/// The memory of this job, initially zero; each rank calls it once.
board& shared_board();

}  // namespace sweep
