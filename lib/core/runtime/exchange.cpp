#include "lib/core/runtime/exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/meanwhile.hpp"
#include "lib/core/device/queued_messages.hpp"

namespace lci::core {

namespace {

using network::address_exchange;

std::atomic<uint64_t> fences_so_far{0}, reads_so_far{0};

// --- the record that a rank puts in one round: its parts, each preceded by its length ---

void append_part(std::string& record, const std::string& part) {
  const auto size = static_cast<uint32_t>(part.size());
  record.append(reinterpret_cast<const char*>(&size), sizeof size);
  record += part;
}

/// Where the part of this number is in the record; nothing if the record has no such part, or is malformed.
struct part_place {
  size_t at, size;  // of its bytes, which follow their length
};
std::optional<part_place> find_part(const std::string& record, uint32_t part) {
  size_t at = 0;
  for (uint32_t i = 0;; ++i) {
    uint32_t size = 0;
    if (record.size() - at < sizeof size) return std::nullopt;
    std::memcpy(&size, record.data() + at, sizeof size);
    at += sizeof size;
    if (size > record.size() - at) return std::nullopt;
    if (i == part) return part_place{at, size};
    at += size;
  }
}

std::string part_of(const std::string& record, uint32_t part, int rank) {
  if (const auto found = find_part(record, part)) return record.substr(found->at, found->size);
  throw bootstrap_error("rank " + std::to_string(rank) +
                        " has published its address in another format than this rank; all ranks must run the same "
                        "version of LCI with the same backend, and the launcher must describe their hosts alike");
}

/// Frees the memory of a part that is read no more. It stays there as an empty one, as parts are found by counting.
void drop_part(std::string& record, uint32_t part) {
  const auto found = find_part(record, part);
  if (!found) return;
  constexpr uint32_t empty = 0;
  std::memcpy(record.data() + found->at - sizeof empty, &empty, sizeof empty);
  record.erase(found->at, found->size);
  record.shrink_to_fit();
}

/// The records that all ranks put before one fence.
struct round {
  network::bootstrap& boot;
  std::string prefix;                // of the keys; the rank follows
  std::vector<std::string> records;  // by rank; empty: not read yet. Under known_mutex
  size_t unread = 0;                 // empty records; changed under bootstrap_mutex and known_mutex, read under either
};

// All exchanges of a process share its bootstrap, which one thread may use at a time.
std::mutex bootstrap_mutex;
std::vector<round*> half_read;  // under bootstrap_mutex: rounds with unread records
// Records already read are available without waiting for the thread that uses the bootstrap.
std::mutex known_mutex;

// --- under bootstrap_mutex ---

void read_rest(round& r) {
  if (r.unread == 0) return;
  std::vector<std::string> all = r.boot.get_all(r.prefix);
  reads_so_far.fetch_add(r.unread, std::memory_order_relaxed);
  std::lock_guard known(known_mutex);
  r.records.swap(all);
  r.unread = 0;
}

void read_half_read() {
  for (; !half_read.empty(); half_read.pop_back()) read_rest(*half_read.back());
}

void forget(const round* r) { half_read.erase(std::remove(half_read.begin(), half_read.end(), r), half_read.end()); }

class kvs_exchange final : public address_exchange {
 public:
  explicit kvs_exchange(const network::bootstrap_options& options) : boot_(network::process_bootstrap(options)) {}

  ~kvs_exchange() override {
    std::lock_guard guard(bootstrap_mutex);
    for (const auto& r : rounds_) forget(r.get());
  }

  int rank() const override { return boot_.rank(); }
  int size() const override { return boot_.size(); }
  std::optional<place> place_on_host() const override {
    const auto here = boot_.locality();
    if (!here || here->size > size()) return std::nullopt;
    return place{here->rank, here->size};
  }

  offer_id offer(const std::string& blob) override {
    mine_.reserve(mine_.size() + sizeof(uint32_t) + blob.size());  // a part is appended whole or not at all
    append_part(mine_, blob);
    return {static_cast<uint32_t>(rounds_.size()), n_parts_++};
  }

  void publish() override {
    if (n_parts_ == 0) return;
    std::lock_guard guard(bootstrap_mutex);
    read_half_read();
    // Rounds are counted per process, so that two runtimes never share a key; all ranks allocate their runtimes in
    // the same order. A round without a fence, for lack of memory, does not count: the other ranks still wait in it.
    static int n_rounds = 0;
    auto made = std::make_unique<round>(round{boot_, "lci-" + std::to_string(n_rounds) + "-", {}});
    made->records.resize(static_cast<size_t>(size()));
    made->unread = made->records.size() - 1;
    half_read.reserve(half_read.size() + 1);
    {
      std::lock_guard known(known_mutex);
      rounds_.reserve(rounds_.size() + 1);
    }
    if (size() > 1) {
      boot_.put(made->prefix + std::to_string(rank()), mine_);
      insist_on_memory([&] { fence(boot_); });
      fences_so_far.fetch_add(1, std::memory_order_relaxed);
      half_read.push_back(made.get());
    }
    ++n_rounds;
    made->records[static_cast<size_t>(rank())] = std::exchange(mine_, {});
    n_parts_ = 0;
    std::lock_guard known(known_mutex);
    rounds_.push_back(std::move(made));
  }

  void withdraw() override {
    mine_.clear();
    n_parts_ = 0;
  }

  std::string read(offer_id what, int rank) override {
    const auto r = static_cast<size_t>(rank);
    std::string record;
    if (!find(what, r, record)) {
      std::lock_guard guard(bootstrap_mutex);
      if (!find(what, r, record)) {
        round& from = round_of(what);
        record = boot_.get(from.prefix + std::to_string(rank), rank);
        (void)part_of(record, what.part, rank);  // throws before a malformed record is stored
        reads_so_far.fetch_add(1, std::memory_order_relaxed);
        keep(from, r, record);
        if (from.unread == 0) forget(&from);
      }
    }
    return part_of(record, what.part, rank);
  }

  std::vector<std::string> read_all(offer_id what) override {
    round& from = round_of(what);
    {
      std::lock_guard guard(bootstrap_mutex);
      read_rest(from);
      forget(&from);
    }
    std::vector<std::string> parts;
    std::lock_guard known(known_mutex);
    for (size_t r = 0; r < from.records.size(); ++r)
      parts.push_back(part_of(from.records[r], what.part, static_cast<int>(r)));
    return parts;
  }

  void drop(offer_id what) override {
    round& from = round_of(what);
    std::lock_guard known(known_mutex);
    for (std::string& record : from.records) drop_part(record, what.part);
  }

 private:
  round& round_of(offer_id what) {
    std::lock_guard known(known_mutex);
    return *rounds_[what.round];
  }

  bool find(offer_id what, size_t rank, std::string& record) {
    std::lock_guard known(known_mutex);
    record = rounds_[what.round]->records[rank];
    return !record.empty();
  }

  static void keep(round& r, size_t rank, const std::string& record) {
    std::lock_guard known(known_mutex);
    r.records[rank] = record;
    --r.unread;
  }

  network::bootstrap& boot_;
  std::string mine_;                            // parts offered and not yet published
  uint32_t n_parts_ = 0;                        // in mine_
  std::vector<std::unique_ptr<round>> rounds_;  // published; under known_mutex
};

/// The exchange of a runtime that is a job of its own, whatever started the process.
class lone_exchange final : public address_exchange {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::optional<place> place_on_host() const override { return place{0, 1}; }
  offer_id offer(const std::string& blob) override {
    blobs_.push_back(blob);
    return {0, static_cast<uint32_t>(blobs_.size() - 1)};
  }
  void publish() override {}
  std::string read(offer_id what, int) override { return blobs_[what.part]; }
  std::vector<std::string> read_all(offer_id what) override { return {blobs_[what.part]}; }

 private:
  std::vector<std::string> blobs_;
};

}  // namespace

void fence(network::bootstrap& boot) {
  const network::works_meanwhile sending([] { return send_queued(); });
  boot.fence();
}

exchange_guard::exchange_guard() { bootstrap_mutex.lock(); }
exchange_guard::~exchange_guard() { bootstrap_mutex.unlock(); }
void exchange_guard::read_unread_records() { read_half_read(); }

exchange_counts count_exchanges() {
  return {fences_so_far.load(std::memory_order_relaxed), reads_so_far.load(std::memory_order_relaxed)};
}

std::unique_ptr<network::address_exchange> bootstrap_exchange(const network::bootstrap_options& options) {
  if (options.kind == no_bootstrap) return std::make_unique<lone_exchange>();
  return std::make_unique<kvs_exchange>(options);
}

}  // namespace lci::core
