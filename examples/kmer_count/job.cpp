#include "job.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>

namespace kmer_count {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

uint64_t expected_per_rank(const program_options& o, const input_set& input, int nranks) {
  const uint64_t all = o.expected_kmers > 0 ? o.expected_kmers : input.expected_kmers();
  return all / static_cast<uint64_t>(nranks) + 1;
}

double filter_bits(const program_options& o) {
  if (o.bloom_bits > 0) return o.bloom_bits;
  return o.expected_kmers > 0 ? 16 : 8;
}

}  // namespace

job::job(const program_options& options, exchange& net, const input_set& input, const input_options& input_settings)
    : options_(options),
      net_(net),
      gathering_(net),
      store_(options.filter, expected_per_rank(options, input, net.nranks()), filter_bits(options), options.threads),
      ntraversals_(options.filter ? 2 : 1) {
  for (size_t i = 0; i < options.threads; ++i)
    writers_.push_back(std::make_unique<kmer_table::writer>(store_.table(), i));
  for (size_t t = 0; t < ntraversals_; ++t) {
    shares_.push_back(std::make_unique<input_share>(input, input_settings, net.rank(), net.nranks()));
    traversals_.push_back(std::make_unique<traversal_end>(net.nranks(), options.threads));
  }
  net_.set_receiver(this);
}

job_result job::run() {
  std::vector<std::unique_ptr<worker>> workers;
  for (size_t i = 0; i < options_.threads; ++i) {
    workers.push_back(std::make_unique<worker>(i, net_.nranks(), net_.batch_capacity()));
  }
  const double started = now();
  const auto body = [this](worker& w) {
    try {
      work(w);
    } catch (const std::exception& e) {
      net_.fail(e.what());
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < workers.size(); ++i) threads.emplace_back(body, std::ref(*workers[i]));
  body(*workers[0]);
  for (auto& t : threads) t.join();

  job_result result;
  result.ntraversals = ntraversals_;
  for (size_t t = 0; t < ntraversals_; ++t) {
    result.traversal_seconds[t] = ended_at_[t] - (t == 0 ? started : ended_at_[t - 1]);
  }
  for (const auto& w : workers) {
    std::copy_n(w->clock.seconds, nactivities, w->counters.seconds);
    result.total.counters += w->counters;
  }
  // All traversals have ended, so the store no longer changes.
  result.counts = store_.counts();
  result.total.filter_bytes = store_.filter_bytes();
  result.total.table_bytes = store_.table_bytes();
  result.total.table_entries = store_.table_size();
  gathering_.collect(*workers[0], result.counts, result.total);
  if (net_.rank() == 0) complete(result.counts, result.total.counters);
  if (!options_.dump.empty()) dump();
  gathering_.leave(*workers[0]);
  return result;
}

void job::work(worker& w) {
  net_.attach(w);
  w.clock.start();
  for (size_t t = 0; t < ntraversals_; ++t) {
    read_input(w, t);
    for (int r = 0; r < net_.nranks(); ++r) {
      if (batch* b = w.batches.close(r)) deliver(w, t, r, b);
      traversals_[t]->add_sent(r, w.sent[static_cast<size_t>(r)]);
      w.sent[static_cast<size_t>(r)] = 0;
    }
    if (traversals_[t]->thread_has_sent_all()) tell_others(w, control_kind::totals, t);
    end_traversal(w, t);
    if (w.index == 0) ended_at_[t] = now();
  }
}

void job::read_input(worker& w, size_t traversal) {
  input_share& share = *shares_[traversal];
  std::string storage;
  backoff wait;
  const int nranks = net_.nranks();
  for (;;) {
    text_block block;
    input_share::result found;
    {
      activity_scope scope(w.clock, activity::read);
      found = share.next(w.index, block, storage);
    }
    if (found == input_share::result::end) return;
    if (found == input_share::result::busy) {
      if (!look_around(w)) wait.nothing_happened();
      continue;
    }
    wait.something_happened();
    activity_scope scope(w.clock, activity::parse);
    text_counts counts;
    uint64_t kmers = 0;
    for_each_kmer(block, options_.k, options_.canonical, counts, [&](const kmer& m) {
      ++kmers;
      const int owner = owner_of(hash_of(m), nranks);
      if (batch* full = w.batches.add(owner, m)) deliver(w, traversal, owner, full);
    });
    w.counters.found[traversal] += kmers;
    if (traversal == 0) w.counters.records += counts.records;
    net_.progress(w);
  }
}

bool job::look_around(worker& w) {
  const bool moved = net_.progress(w);
  if (!writers_[w.index]->has_more()) return moved;
  activity_scope scope(w.clock, activity::insert);
  writers_[w.index]->look();
  return true;
}

void job::deliver(worker& w, size_t traversal, int rank, batch* b) {
  if (rank != net_.rank()) {
    ++w.sent[static_cast<size_t>(rank)];
    net_.send_batch(w, rank, traversal, b);
    return;
  }
  process(w, traversal, b->bytes(), b->size);
  b->pool->give_back(b);
}

void job::process(worker& w, size_t traversal, const char* kmers, size_t n) {
  activity_scope scope(w.clock, activity::insert);
  if (store_.has_filter() && traversal == 0) {
    repeated_.fetch_add(store_.filter(kmers, n), std::memory_order_relaxed);
  } else {
    store_.count(*writers_[w.index], kmers, n);
    if (writers_[w.index]->has_more()) writers_[w.index]->look();
  }
  w.counters.processed[traversal] += n;
}

void job::on_batch(worker& w, size_t traversal, const char* kmers, size_t size) {
  if (traversal >= ntraversals_ || size % sizeof(kmer) != 0) {
    net_.fail("a batch arrived that no rank can have sent");
  }
  const size_t n = size / sizeof(kmer);
  process(w, traversal, kmers, n);
  w.counters.by_message[traversal] += n;
  traversals_[traversal]->batch_processed();
}

void job::tell_others(worker& w, control_kind kind, size_t traversal) {
  for (int r = 0; r < net_.nranks(); ++r) {
    if (r == net_.rank()) continue;
    const control message{kind, static_cast<uint32_t>(traversal), traversals_[traversal]->sent_to(r)};
    net_.send_control(w, r, &message, sizeof message);
  }
}

void job::end_traversal(worker& w, size_t traversal) {
  traversal_end& end = *traversals_[traversal];
  backoff wait;
  while (!end.ended()) {
    if (end.claim_ready()) {
      if (traversal + 1 < ntraversals_) {
        activity_scope scope(w.clock, activity::insert);
        store_.prepare_counting(repeated_.load(std::memory_order_relaxed));
      }
      end.self_is_ready();
      tell_others(w, control_kind::ready, traversal);
    }
    if (look_around(w)) {
      wait.something_happened();
    } else {
      wait.nothing_happened();
    }
  }
  activity_scope scope(w.clock, activity::insert);
  writers_[w.index]->flush();
}

void job::on_control(const char* bytes, size_t size) {
  control message;
  if (size < sizeof message) net_.fail("a control message is too short");
  std::memcpy(&message, bytes, sizeof message);
  if (message.traversal >= ntraversals_) net_.fail("a message names a traversal that does not exist");
  switch (message.kind) {
    case control_kind::totals:
      traversals_[message.traversal]->others_total(message.value);
      break;
    case control_kind::ready:
      traversals_[message.traversal]->other_is_ready();
      break;
    default:
      gathering_.on_control(message, bytes + sizeof message, size - sizeof message);
  }
}

void job::complete(histogram& counts, const tally& sum) const {
  bool right = true;
  for (size_t t = 0; t < ntraversals_; ++t) {
    right = right && sum.found[t] == sum.processed[t] && sum.found[t] == sum.found[0];
  }
  if (options_.filter) {
    right = right && counts.complete_singles(sum.found[0]);
  } else {
    right = right && counts.occurrences() == sum.found[0];
  }
  if (!right) net_.fail("k-mers were lost or counted twice: the result would be wrong");
}

void job::dump() {
  std::string path = options_.dump;
  if (net_.nranks() > 1) path += "." + std::to_string(net_.rank());
  // False positives of the filter occur once; other k-mers that occur once are missing from the table, so none is
  // written.
  store_.dump(path, options_.k, options_.filter ? 2 : 1);
}

}  // namespace kmer_count
