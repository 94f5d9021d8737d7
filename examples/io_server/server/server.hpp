// The server: threads that receive and execute requests.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <lci.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "execute.hpp"
#include "leadership.hpp"
#include "options.hpp"
#include "root.hpp"
#include "session.hpp"
#include "transfer.hpp"

namespace io_server {

/// Serves requests through the process's default runtime. One thread at a time, the leader, makes progress and receives
/// requests. It executes short requests itself; before it executes one that may take long, it lets another thread lead.
/// If one that is short hangs, as the disk does, another thread becomes the leader after a moment. If all threads wait
/// for clients that have stopped, or for the disk, a further thread is started.
/// A client's session ends as soon as the core reports the end of its connection.
class server {
 public:
  server(const root_folder& root, const server_options& options);
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  /// Starts the threads, which serve from now on. Throws std::runtime_error if there is no memory, or no thread.
  void start();
  /// Serves, too. Returns after stop(), which a signal handler may call.
  void run();
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

 private:
  using clock = std::chrono::steady_clock;

  void work(transfer_buffers& buffers);
  void join();
  void add_buffers();
  void start_thread();
  void let_another_lead(leadership::member& me);
  /// Run by a thread of its own. It makes another thread the leader if the leader's request hangs, and starts further
  /// server threads while all of them wait.
  void supervise();
  void serve(const lci::status_t& arrived, transfer_buffers& buffers, leadership::member& me);
  /// Returns false if the client has no session and so gets no reply. Throws std::bad_alloc.
  bool execute_request(const lci::status_t& arrived, transfer_buffers& buffers, leadership::member& me, received& r,
                       reply& answer, outgoing& out);
  void respond(int client, const request& to, const reply& what, const char* data, size_t size);
  /// Ends the client's session, and the connection.
  void end_of(int client, const char* how);
  static void disconnect(int client);
  /// Posts a receive that the client never matches, so it completes when the connection ends, for whatever reason.
  void watch(int client, uint64_t connection);
  void on_end_of_watch(const lci::status_t& end, leadership::member& me);
  void disconnect_all();
  void say(int client, const char* how) const;
  bool others_are_active(int client);
  bool may_last(const request& h, int client);

  const root_folder& root_;
  const int threads_;
  const bool verbose_;
  const bool lends_;      // descriptors of files to clients on this host
  lci::comp_t requests_;  // a queue
  lci::comp_t sent_;      // completions of replies, which are ignored
  session_table sessions_;
  leadership leading_;
  size_t watches_ = 0;                // receives of watch() that are outstanding; the leader's, as the next two
  int last_client_ = -1;              // client of the last request, -1 if it has left
  clock::time_point client_changed_;  // when the client changed last
  std::atomic<bool> stopping_{false};

  std::atomic<int> free_{0};        // threads that lead or could lead
  std::atomic<uint64_t> leads_{0};  // how often a thread has become the leader
  std::mutex supervising_;
  std::condition_variable ending_;
  bool ends_ = false;                                       // under supervising_, like the next two
  std::vector<std::unique_ptr<transfer_buffers>> buffers_;  // one for each thread
  std::vector<std::thread> others_;
  std::thread supervisor_;
};

}  // namespace io_server
