#include "tests/conformance/control.hpp"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace conf {

std::vector<std::pair<int, std::string>> hub::add(int rank, message m) {
  in_[static_cast<size_t>(rank)] = std::move(m);
  bool any_last = false, all_last = true;
  for (const auto& i : in_) {
    if (!i) return {};
    any_last |= i->last;
    all_last &= i->last;
  }
  std::vector<std::pair<int, std::string>> answers;
  const int n = static_cast<int>(in_.size());
  if (any_last && !all_last) {  // a rank has abandoned the test: the others must not wait for it
    for (int r = 0; r < n; ++r) {
      auto& i = in_[static_cast<size_t>(r)];
      if (i->last) continue;
      answers.emplace_back(r, "A");
      i.reset();
    }
    return answers;
  }
  std::string all = "D";
  for (const auto& i : in_) {
    const auto size = static_cast<uint32_t>(i->data.size());
    all.append(reinterpret_cast<const char*>(&size), sizeof size);
    all += i->data;
  }
  for (int r = 0; r < n; ++r) {
    answers.emplace_back(r, all);
    in_[static_cast<size_t>(r)].reset();
  }
  return answers;
}

std::vector<std::string> unpack_answer(const std::string& answer) {
  if (answer.empty() || answer[0] != 'D') throw test_aborted{};
  std::vector<std::string> all;
  for (size_t at = 1; at < answer.size();) {
    uint32_t size;
    std::memcpy(&size, answer.data() + at, sizeof size);
    all.push_back(answer.substr(at + sizeof size, size));
    at += sizeof size + size;
  }
  return all;
}

namespace {

struct shared_hub {
  explicit shared_hub(int size) : center(size), answers(static_cast<size_t>(size)) {}
  std::mutex mutex;
  hub center;                                       // guarded by mutex, as is answers
  std::vector<std::optional<std::string>> answers;  // by rank, until the rank takes it
};

class local_control : public control {
 public:
  local_control(std::shared_ptr<shared_hub> h, int rank) : hub_(std::move(h)), rank_(static_cast<size_t>(rank)) {}

  std::vector<std::string> exchange(const std::string& mine, bool last, int seconds,
                                    const std::function<void()>& idle) override {
    {
      std::lock_guard lock(hub_->mutex);
      hub_->answers[rank_].reset();  // may be there if an earlier exchange timed out
      for (auto& [rank, answer] : hub_->center.add(static_cast<int>(rank_), {last, mine}))
        hub_->answers[static_cast<size_t>(rank)] = std::move(answer);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    for (;;) {
      {
        std::lock_guard lock(hub_->mutex);
        if (auto& answer = hub_->answers[rank_]) {
          const std::string text = std::move(*answer);
          answer.reset();
          return unpack_answer(text);
        }
      }
      if (std::chrono::steady_clock::now() > end) throw test_aborted{};
      idle();
    }
  }

 private:
  std::shared_ptr<shared_hub> hub_;
  size_t rank_;
};

}  // namespace

std::vector<std::unique_ptr<control>> make_local_controls(int size) {
  auto shared = std::make_shared<shared_hub>(size);
  std::vector<std::unique_ptr<control>> all;
  for (int r = 0; r < size; ++r) all.push_back(std::make_unique<local_control>(shared, r));
  return all;
}

}  // namespace conf
