#include "server.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "execute.hpp"

namespace io_server {

server::server(const root_folder& root, int threads, bool verbose)
    : root_(root), threads_(threads), verbose_(verbose), requests_(lci::alloc_cq()), sent_(lci::alloc_counter()) {
  if (lci::register_rcomp(requests_) != request_queue) {
    std::fputs("lci_iod: something has registered handles before the server\n", stderr);
    std::abort();
  }
}

server::~server() {
  lci::free_comp(&requests_);
  lci::free_comp(&sent_);
}

void server::run() {
  std::vector<std::thread> others;
  for (int i = 1; i < threads_; ++i) others.emplace_back([this] { work(); });
  work();
  for (std::thread& t : others) t.join();
}

void server::end_of(int client, const char* how) {
  sessions_.end(client);
  try {
    lci::disconnect(client);
  } catch (const std::exception&) {  // the client has disconnected already
  }
  if (verbose_) std::fprintf(stderr, "lci_iod: client %d %s; %zu are left\n", client, how, sessions_.size());
}

void server::work() {
  transfer_buffers buffers(lci::get_default_device(), [this](int client) { end_of(client, "has failed"); });
  std::unique_lock leading(leading_);
  while (!stopping_.load(std::memory_order_relaxed)) {
    try {
      const lci::status_t arrived = lci::cq_wait_for(requests_, 0.1);
      if (!arrived.is_done()) continue;
      serve(arrived, buffers, leading);
      std::free(arrived.buffer);
    } catch (const lci::peer_failure_error& e) {
      end_of(e.failed_rank(), "has failed");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "lci_iod: %s\n", e.what());
    }
    if (!leading.owns_lock()) leading.lock();
  }
}

bool server::others_are_active(int client) {
  const auto now = clock::now();
  if (client != last_client_) {
    if (last_client_ >= 0) client_changed_ = now;
    last_client_ = client;
  }
  return now - client_changed_ < std::chrono::milliseconds(10);
}

// Whether to let another thread lead during this request. Not for a single client, since that thread would compete with
// it for a processor.
bool server::may_last(const request& h, int client) {
  if (h.what == op::fsync || h.what == op::fallocate) return true;
  const bool others = others_are_active(client);
  if (h.what == op::write_staged) return others;
  return (h.what == op::read || h.what == op::write) && !h.memory.is_empty() && others;
}

void server::serve(const lci::status_t& arrived, transfer_buffers& buffers, std::unique_lock<std::mutex>& leading) {
  const int client = arrived.rank;
  received r;
  if (!take_request(arrived.buffer, arrived.size, r)) return end_of(client, "does not follow the protocol");
  if (r.head.what == op::hello) sessions_.begin(client);
  const std::shared_ptr<session> its = sessions_.find(client);
  if (its == nullptr) return;  // the session has ended meanwhile
  reply answer;
  answer.number = r.head.number;
  char data[most_message - sizeof answer];
  outgoing out{data, sizeof data, 0};
  std::unique_lock<std::mutex> in_order;
  if (r.head.what == op::write_staged) in_order = std::unique_lock(its->writing);
  if (may_last(r.head, client)) leading.unlock();
  if (r.head.what == op::bye) {
    sessions_.end(client);  // before the reply, so that the client's locks are free when it gets the reply
    respond(client, r.head, answer, data, 0);
    return end_of(client, "has left");
  }
  if ((r.head.what == op::read || r.head.what == op::write) && !r.head.memory.is_empty()) {
    buffers.on_delay = [&leading] {
      if (leading.owns_lock()) leading.unlock();
    };
    const std::shared_ptr<open_file> file = its->find(r.head.handle);
    if (file == nullptr)
      answer.error = EBADF;
    else
      answer.error = r.head.what == op::read ? buffers.read(*file, client, r.head, answer)
                                             : buffers.write(*file, client, r.head, answer);
    buffers.on_delay = nullptr;
  } else if (r.head.what != op::hello) {
    execute(root_, *its, r, answer, out);
  }
  if (answer.error != 0) out.size = 0;
  respond(client, r.head, answer, data, out.size);
}

void server::respond(int client, const request& to, const reply& what, const char* data, size_t size) {
  void* packet;
  while ((packet = lci::get_upacket()) == nullptr) lci::progress();
  reply head = what;
  head.size = static_cast<uint32_t>(size);
  std::memcpy(packet, &head, sizeof head);
  if (size != 0) std::memcpy(static_cast<char*>(packet) + sizeof head, data, size);
  try {
    // If the client is slow, LCI queues its replies, so this thread never waits for it.
    (void)lci::post_am_x(client, packet, sizeof head + size, sent_, to.reply_to).allow_retry(false)();
  } catch (const std::exception&) {
    lci::put_upacket(packet);
    throw;
  }
}

}  // namespace io_server
