// A page of memory that the two ranks of a scenario share, past the library: what each has done and seen.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace sweep {

constexpr int most_messages = 64;

/// What has become of a message, at either end.
enum class outcome : uint8_t { none, refused, good, failed };

struct board {
  std::atomic<int> attached;
  std::array<std::atomic<int>, 2> arrived;  // at how many meetings
  std::array<std::atomic<int>, 2> told;     // exceptions that progress() has thrown
  std::array<std::atomic<int>, 2> lost;     // the rank was told that the other has failed
  std::array<std::atomic<int>, 2> ended;    // what the rank had to do is done, of a scenario
  std::atomic<int> posted;
  std::atomic<int> broken;  // a rank was told that the other has failed, by a fault that may cost that
  std::array<std::array<std::atomic<outcome>, most_messages>, 2> outcomes;
  std::array<std::atomic<uint64_t>, 16> words;  // handles, by their owner
  struct key {
    unsigned char bytes[64];
  };
  std::array<key, most_messages> keys;  // of rank 1's windows
};

/// The page of this job, all zero at first; both ranks call it once.
board& shared_board();

}  // namespace sweep
