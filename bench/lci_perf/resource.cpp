#include "bench/lci_perf/resource.hpp"

#include <algorithm>
#include <atomic>
#include <lci.hpp>
#include <memory>
#include <vector>

#include "bench/lci_perf/contention.hpp"
#include "bench/lci_perf/page_buffer.hpp"
#include "bench/lci_perf/resource_floor.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

/// Each thread pushes, then pops a status, perhaps one that another thread has pushed.
class queue final : public contended_object {
 public:
  queue() : cq_(lci::alloc_cq()) {}
  ~queue() override { lci::free_comp(&cq_); }
  void work(int t, uint64_t count) override {
    uint64_t pushed = 0, popped = 0;
    lci::status_t status(lci::errorcode_t::done);
    for (uint64_t i = 0; i < count; ++i) {
      status.tag = static_cast<lci::tag_t>(t) << 40 | i;
      pushed += status.tag;
      lci::comp_signal(cq_, status);
      lci::status_t got;
      do {
        got = lci::cq_pop(cq_);
      } while (got.is_retry());
      popped += got.tag;
    }
    difference_.fetch_add(pushed - popped, std::memory_order_relaxed);
  }
  void check(uint64_t) override {
    if (difference_.load(std::memory_order_relaxed) != 0 || !lci::cq_pop(cq_).is_retry())
      give_up("a completion queue has not returned what was pushed");
  }
  std::string what() const override {
    return "a push and a pop of one completion queue (" + lci::to_string(cq_.get_attr_cq_type()) + ")";
  }

 private:
  lci::comp_t cq_;
  std::atomic<uint64_t> difference_{0};
};

/// Each thread uses its own keys: only the table is shared.
class matching final : public contended_object {
 public:
  matching() : engine_(lci::alloc_matching_engine()) {}
  ~matching() override { lci::free_matching_engine(&engine_); }
  void work(int t, uint64_t count) override {
    char values[2];
    for (uint64_t i = 0; i < count; ++i) {
      const lci::matching_entry_key_t key = static_cast<uint64_t>(t) << 32 | (i & 1023);
      void* const before = lci::matching_engine_insert(engine_, key, &values[0], lci::matching_entry_type_t::recv);
      void* const match = lci::matching_engine_insert(engine_, key, &values[1], lci::matching_entry_type_t::send);
      if (before != nullptr || match != &values[0]) give_up("a send has not matched its receive");
    }
  }
  std::string what() const override {
    return "a receive and the send that matches it, into one matching engine; keys of each "
           "thread's own";
  }

 private:
  lci::matching_engine_t engine_;
};

class packets final : public contended_object {
 public:
  void work(int t, uint64_t count) override {
    for (uint64_t i = 0; i < count; ++i) {
      volatile char* packet = nullptr;
      while (packet == nullptr) packet = static_cast<volatile char*>(lci::get_upacket());
      *packet = static_cast<char>(t);
      if (*packet != static_cast<char>(t)) give_up("a packet was given twice");
      lci::put_upacket(const_cast<char*>(packet));
    }
  }
  std::string what() const override { return "a get and a put of a packet, from and to one pool"; }
};

/// Each thread registers its own memory, with one shared device.
class registrations final : public contended_object {
 public:
  explicit registrations(const options& o)
      : device_(lci::alloc_device_x().use_reg_cache(o.reg_cache)()), cached_(o.reg_cache) {
    const size_t bytes = *std::max_element(o.sizes.begin(), o.sizes.end());
    for (int t = 0; t < o.threads; ++t) memory_.push_back(make_page_buffer(bytes, 1));
  }
  ~registrations() override { lci::free_device(&device_); }
  void begin(size_t size) override { size_ = size; }
  void work(int t, uint64_t count) override {
    char* const memory = memory_[static_cast<size_t>(t)].get();
    for (uint64_t i = 0; i < count; ++i) {
      lci::mr_t mr = lci::register_memory_x(memory, size_).device(device_)();
      if (lci::get_mr_base(mr) != memory) give_up("a registration is of other memory");
      lci::deregister_memory(&mr);
    }
  }
  std::string what() const override {
    std::string cache = "without a cache";
    if (cached_) {
      cache = lci::get_reg_cache_stats_x().device(device_)().active
                  ? "with a cache"
                  : "with a cache asked for, but registering costs nothing on this network: there "
                    "is none";
    }
    return "a registration of memory and its end, with one device, " + cache;
  }

 private:
  lci::device_t device_;
  const bool cached_;
  std::vector<page_buffer> memory_;
  size_t size_ = 0;
};

std::unique_ptr<contended_object> make_object(const options& o) {
  switch (o.metric) {
    case metric_kind::cq:
      return std::make_unique<queue>();
    case metric_kind::matching:
      return std::make_unique<matching>();
    case metric_kind::packet:
      return std::make_unique<packets>();
    case metric_kind::registration:
      return std::make_unique<registrations>(o);
    default:
      return make_floor_object(o);
  }
}

}  // namespace

void run_resource(const options& o) { run_contention(o, *make_object(o)); }

}  // namespace lci_perf
