// The interface by which the test uses each communication system in one process: initialize, communicate, finalize.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

// Ends the process: the launcher ends the other ranks.
#define REQUIRE(condition)                                                                                 \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      std::fprintf(stderr, "%s:%d: process %d: not true: %s\n", __FILE__, __LINE__, getpid(), #condition); \
      std::_Exit(3);                                                                                       \
    }                                                                                                      \
  } while (false)

namespace together {

/// A communication system. One thread at a time may use it.
class participant {
 public:
  virtual ~participant() = default;
  virtual const char* name() const = 0;
  /// Both are collective.
  virtual void begin() = 0;
  virtual void end() = 0;
  /// Collective. Sends `rounds` rounds of messages of all kinds to the next rank, and checks those of the previous
  /// rank. When it returns, other ranks need no more progress of this one.
  virtual void work(int rounds) = 0;

  int rank = 0, size = 1;
  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
};

std::unique_ptr<participant> make_core();
std::unique_ptr<participant> make_v1();
std::unique_ptr<participant> make_armci();
std::unique_ptr<participant> make_ccs();
std::unique_ptr<participant> make_mercury();
std::unique_ptr<participant> make_mpi();  // only in builds with MPI

/// Sizes of messages: from 0 bytes to sizes that every network sends by rendezvous.
inline size_t bytes_of(int round) {
  constexpr size_t sizes[] = {8, 0, 100, 1, 3000, 65536, 17, 200000};
  return sizes[round % 8];
}

/// The data that rank `from` sends in a round. `salt` differs between the systems.
inline unsigned char pattern(unsigned salt, int from, int round, size_t i) {
  return static_cast<unsigned char>(salt * 29 + static_cast<unsigned>(from) * 31 + static_cast<unsigned>(round) * 7 +
                                    i % 253);
}
inline void fill(std::vector<unsigned char>& bytes, size_t n, unsigned salt, int from, int round) {
  bytes.resize(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = pattern(salt, from, round, i);
}
inline bool is_filled(const unsigned char* bytes, size_t n, unsigned salt, int from, int round) {
  for (size_t i = 0; i < n; ++i)
    if (bytes[i] != pattern(salt, from, round, i)) return false;
  return true;
}

}  // namespace together
