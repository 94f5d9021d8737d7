// Implements control.hpp, by which ranks exchange texts without the library under test, for ranks that are processes of
// one launcher. All messages go through rank 0, which collects and distributes them.
#include <chrono>
#include <cstdlib>

#include "tests/conformance/channel.hpp"
#include "tests/conformance/control.hpp"

namespace conf {
namespace {

class process_control : public control {
 public:
  process_control(int rank, int size, std::unique_ptr<channel> c)
      : rank_(rank), channel_(std::move(c)), center_(size) {}

  std::vector<std::string> exchange(const std::string& mine, bool last, int seconds,
                                    const std::function<void()>& idle) override {
    end_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    if (rank_ != 0) {
      send(0, std::string(1, last ? 'L' : 'N') + std::to_string(rank_) + " " + mine, idle);
      return unpack_answer(receive(idle));
    }
    std::string own = deliver(center_.add(0, {last, mine}), idle);
    while (own.empty()) {
      const std::string text = receive(idle);
      const size_t space = text.find(' ');
      const int from = std::atoi(text.c_str() + 1);
      own = deliver(center_.add(from, {text[0] == 'L', text.substr(space + 1)}), idle);
    }
    return unpack_answer(own);
  }

 private:
  void wait_or_abort(const std::function<void()>& idle) {
    if (std::chrono::steady_clock::now() > end_) throw test_aborted{};
    idle();
  }

  void send(int to, const std::string& text, const std::function<void()>& idle) {
    while (!channel_->send(to, text)) wait_or_abort(idle);
  }

  std::string receive(const std::function<void()>& idle) {
    std::string text;
    while (!channel_->receive(text)) wait_or_abort(idle);
    return text;
  }

  /// Sends the answers and returns rank 0's own; empty if there is none yet.
  std::string deliver(const std::vector<std::pair<int, std::string>>& answers, const std::function<void()>& idle) {
    std::string own;
    for (const auto& [rank, answer] : answers) {
      if (rank == 0)
        own = answer;
      else
        send(rank, answer, idle);
    }
    return own;
  }

  int rank_;
  std::unique_ptr<channel> channel_;
  hub center_;  // used by rank 0 only
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

std::unique_ptr<control> make_process_control(int rank, int size) {
  const char* const meeting = std::getenv("LCI_TEST_CONTROL");
  return std::make_unique<process_control>(
      rank, size, meeting == nullptr ? make_host_channel(rank) : make_tcp_channel(rank, size, meeting));
}

}  // namespace conf
