#include "exchange.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace kmer_count {

exchange::exchange(const program_options& options) {
  const bool threads = options.threads > 1;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks_);
  if (threads && provided != MPI_THREAD_MULTIPLE) fail("this MPI is not made for threads");
  own_comms_ = options.dedicated_devices && threads;
  batch_capacity_ = options.aggregate / sizeof(kmer);
  message_size_ = std::max<size_t>(batch_capacity_ * sizeof(kmer), 8192);
  for (size_t t = 0; t < options.threads; ++t) {
    ports_.push_back(std::make_unique<port>());
    port& p = *ports_.back();
    p.comm = MPI_COMM_WORLD;
    if (own_comms_) MPI_Comm_dup(MPI_COMM_WORLD, &p.comm);
    p.first_tag = own_comms_ ? 0 : static_cast<int>(t) * kinds;
    p.incoming.assign(receives * (own_comms_ || !threads ? 1 : kinds), MPI_REQUEST_NULL);
    for (size_t i = 0; i < p.incoming.size(); ++i) {
      p.buffers.emplace_back(new char[message_size_]);
      post_receive(p, i);
    }
  }
}

exchange::~exchange() {
  MPI_Barrier(MPI_COMM_WORLD);
  for (const auto& p : ports_) {
    for (MPI_Request& r : p->incoming) {
      MPI_Cancel(&r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    if (own_comms_) MPI_Comm_free(&p->comm);
  }
  MPI_Finalize();
}

void exchange::fail(const char* what) const {
  std::fprintf(stderr, "kmer_count: rank %d: %s\n", rank_, what);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

// Threads that share a communicator can't receive with MPI_ANY_TAG: they would get each other's messages.
void exchange::post_receive(port& p, size_t i) {
  const bool alone = p.incoming.size() == receives;
  const int tag = alone ? MPI_ANY_TAG : p.first_tag + static_cast<int>(i / receives);
  MPI_Irecv(p.buffers[i].get(), static_cast<int>(message_size_), MPI_CHAR, MPI_ANY_SOURCE, tag, p.comm, &p.incoming[i]);
}

void exchange::send(worker& w, int rank, int tag, outgoing what, const void* bytes, size_t size) {
  port& p = *ports_[w.index];
  backoff wait;
  while (p.requests.size() >= most_sends) {
    ++w.counters.retries;
    if (!progress(w, p)) wait.nothing_happened();
  }
  p.sent.push_back(std::move(what));
  p.requests.emplace_back();
  MPI_Isend(bytes, static_cast<int>(size), MPI_CHAR, rank, p.first_tag + tag, p.comm, &p.requests.back());
}

void exchange::send_batch(worker& w, int rank, size_t traversal, batch* b) {
  activity_scope scope(w.clock, activity::send);
  const size_t size = b->byte_size();
  send(w, rank, static_cast<int>(traversal), {b, nullptr}, b->bytes(), size);
  ++w.counters.messages;
  w.counters.message_bytes += size;
  progress(w);
}

void exchange::send_control(worker& w, int rank, const void* bytes, size_t size) {
  activity_scope scope(w.clock, activity::send);
  auto copy = std::make_unique<char[]>(size);
  std::memcpy(copy.get(), bytes, size);
  const char* const at = copy.get();
  send(w, rank, control_tag, {nullptr, std::move(copy)}, at, size);
}

bool exchange::progress(worker& w, port& p) {
  ++w.counters.progress_calls;
  const bool sent = reap(p);
  return receive(w, p) || sent;
}

bool exchange::receive(worker& w, port& p) {
  int n = 0, which[receives * kinds];
  MPI_Status about[receives * kinds];
  MPI_Testsome(static_cast<int>(p.incoming.size()), p.incoming.data(), &n, which, about);
  for (int k = 0; k < n; ++k) {
    const auto i = static_cast<size_t>(which[k]);
    int size = 0;
    MPI_Get_count(&about[k], MPI_CHAR, &size);
    const int tag = about[k].MPI_TAG - p.first_tag;
    if (tag == control_tag) {
      receiver_->on_control(p.buffers[i].get(), static_cast<size_t>(size));
    } else {
      receiver_->on_batch(w, static_cast<size_t>(tag), p.buffers[i].get(), static_cast<size_t>(size));
    }
    post_receive(p, i);
  }
  return n > 0;
}

bool exchange::reap(port& p) {
  int n = 0, which[most_sends];
  if (p.requests.empty()) return false;
  MPI_Testsome(static_cast<int>(p.requests.size()), p.requests.data(), &n, which, MPI_STATUSES_IGNORE);
  if (n <= 0) return false;
  std::sort(which, which + n, [](int a, int b) { return a > b; });  // removal moves the last element into the gap
  for (int k = 0; k < n; ++k) {
    const auto i = static_cast<size_t>(which[k]);
    if (batch* const b = p.sent[i].batch_sent) b->pool->give_back(b);
    p.requests[i] = p.requests.back();
    p.requests.pop_back();
    std::swap(p.sent[i], p.sent.back());
    p.sent.pop_back();
  }
  return true;
}

bool exchange::progress_all(worker& w) {
  bool moved = false;
  for (const auto& p : ports_) moved = progress(w, *p) || moved;
  return moved;
}

void exchange::finish(worker& w) {
  backoff wait;
  for (const auto& p : ports_)
    while (!p->requests.empty())
      if (!progress_all(w)) wait.nothing_happened();
}

}  // namespace kmer_count
