#include "bench/lci_perf/resource_floor.hpp"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <lci.hpp>
#include <mutex>

#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

struct alignas(128) word {
  std::atomic<uint64_t> value{0};
};

// One word for all threads, or one for each.
class words final : public contended_object {
 public:
  words(int threads, bool own)
      : words_(std::make_unique<word[]>(static_cast<size_t>(threads))), threads_(threads), own_(own) {}
  void work(int t, uint64_t count) override {
    std::atomic<uint64_t>& value = words_[own_ ? t : 0].value;
    for (uint64_t i = 0; i < count; ++i) value.fetch_add(1, std::memory_order_seq_cst);
  }
  void check(uint64_t count) override {
    expected_ += count * static_cast<uint64_t>(threads_);
    uint64_t sum = 0;
    for (int t = 0; t < threads_; ++t) sum += words_[t].value.load(std::memory_order_relaxed);
    if (sum != expected_) give_up("additions have been lost");
  }
  std::string what() const override {
    return own_ ? "fetch-and-add, each of a word of its own" : "fetch-and-add of one word";
  }

 private:
  const std::unique_ptr<word[]> words_;
  const int threads_;
  const bool own_;
  uint64_t expected_ = 0;
};

class locked_queue final : public contended_object {
 public:
  void work(int, uint64_t count) override {
    for (uint64_t i = 0; i < count; ++i) {
      {
        const std::lock_guard<std::mutex> guard(lock_);
        queue_.push_back(lci::status_t(lci::errorcode_t::done));
      }
      lci::status_t status;
      {
        const std::lock_guard<std::mutex> guard(lock_);
        status = queue_.front();
        queue_.pop_front();
      }
      if (!status.is_done()) give_up("a queue has returned what was not pushed");
    }
  }
  void check(uint64_t) override {
    if (!queue_.empty()) give_up("the queue is not empty after all pops");
  }
  std::string what() const override { return "a push and a pop of 40 bytes, std::deque and std::mutex"; }

 private:
  std::mutex lock_;
  std::deque<lci::status_t> queue_;
};

class allocations final : public contended_object {
 public:
  void begin(size_t size) override { size_ = size; }
  void work(int t, uint64_t count) override {
    for (uint64_t i = 0; i < count; ++i) {
      auto* const p = static_cast<volatile char*>(std::malloc(size_));
      if (p == nullptr) give_up("no memory");
      *p = static_cast<char>(t);
      if (*p != static_cast<char>(t)) give_up("memory was given twice");
      std::free(const_cast<char*>(p));
    }
  }
  std::string what() const override { return "malloc and free"; }

 private:
  size_t size_ = 0;
};

}  // namespace

std::unique_ptr<contended_object> make_floor_object(const options& o) {
  switch (o.metric) {
    case metric_kind::lockedqueue:
      return std::make_unique<locked_queue>();
    case metric_kind::malloc:
      return std::make_unique<allocations>();
    default:
      return std::make_unique<words>(o.threads, o.metric == metric_kind::ownatomic);
  }
}

}  // namespace lci_perf
