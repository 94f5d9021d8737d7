// Communication between ranks for the tests themselves: barriers, exchange of addresses, failures.
// It does not use the library under test, but sockets between processes (channel.hpp) and memory between
// the ranks of one process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conf {

/// Thrown if a rank can't continue a test. The harness catches it; it has recorded the reason.
struct test_aborted {};

/// One rank's access to the others. Used by one thread of the rank at a time.
class control {
 public:
  virtual ~control() = default;

  /// Sends `mine` to all ranks and returns what each of them sent, by rank. Calls `idle` while it waits. Throws
  /// test_aborted if another rank has already begun its last exchange, or after `seconds`.
  /// `last`: this is the exchange with which every rank ends a test, even after a failure.
  virtual std::vector<std::string> exchange(const std::string& mine, bool last, int seconds,
                                            const std::function<void()>& idle) = 0;
};

/// Collects the messages of all ranks for an exchange. Rank 0 owns it, or all ranks of one process share it.
class hub {
 public:
  explicit hub(int size) : in_(static_cast<size_t>(size)) {}
  struct message {
    bool last = false;
    std::string data;
  };
  /// Adds a rank's message and returns the answers that can be sent now, as pairs (rank, answer).
  std::vector<std::pair<int, std::string>> add(int rank, message m);

 private:
  std::vector<std::optional<message>> in_;
};

/// The texts in an answer of the hub, by rank. Throws test_aborted if the hub has aborted the exchange.
std::vector<std::string> unpack_answer(const std::string& answer);

/// Controls for `size` ranks in this process.
std::vector<std::unique_ptr<control>> make_local_controls(int size);
/// The control of this process among the processes of one launcher. Called once in a process.
std::unique_ptr<control> make_process_control(int rank, int size);

}  // namespace conf
