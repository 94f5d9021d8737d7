// How the ranks of a test talk about the test itself: barriers, exchanged addresses, failures.
// It does not use what is being tested: sockets between processes (channel.hpp), memory between the
// ranks of one process.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conf {

/// Thrown where a rank can't go on with a test; caught by the harness, which has the reason.
struct test_aborted {};

/// One rank's end. Used by one thread of the rank at a time.
class control {
 public:
  virtual ~control() = default;

  /// Gives `mine` to all ranks and returns what each gave. Calls `idle` while it waits. Throws
  /// test_aborted if another rank is at its last exchange already, or after `seconds`.
  /// `last`: the exchange with which every rank, whatever happened to it, ends a test.
  virtual std::vector<std::string> exchange(const std::string& mine, bool last, int seconds,
                                            const std::function<void()>& idle) = 0;
};

/// Pairs up what the ranks say; belongs to whoever plays the middle.
class hub {
 public:
  explicit hub(int size) : in_(static_cast<size_t>(size)) {}
  struct message {
    bool last = false;
    std::string data;
  };
  /// Takes a rank's word and returns the answers that are due now: (rank, answer).
  std::vector<std::pair<int, std::string>> add(int rank, message m);

 private:
  std::vector<std::optional<message>> in_;
};

/// Takes an answer of the hub apart; throws test_aborted if it says so.
std::vector<std::string> unpack_answer(const std::string& answer);

/// Ends for `size` ranks that live in this process.
std::vector<std::unique_ptr<control>> make_local_controls(int size);
/// This process's end among the processes of one launcher. Made once.
std::unique_ptr<control> make_process_control(int rank, int size);

}  // namespace conf
