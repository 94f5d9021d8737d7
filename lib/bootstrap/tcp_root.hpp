// The root of a tcp bootstrap: a thread in rank 0's process that admits ranks, stores what they put, and completes
// fences.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lib/bootstrap/tcp_key.hpp"
#include "lib/bootstrap/tcp_member.hpp"
#include "lib/bootstrap/tcp_socket.hpp"

namespace lci::network::tcp {

class root {
 public:
  /// Starts the thread. `own` is the root's end of the connection to rank 0.
  root(socket_fd listener, socket_fd own, int size, const job_key& key);

  /// Waits at most set_close_timeout()'s `timeout` seconds (0: for ever) for the other ranks to disconnect, then ends.
  ~root();
  void set_close_timeout(double timeout) { close_timeout_ = timeout; }

 private:
  using member_map = std::map<int, std::unique_ptr<member>>;

  void serve();
  void serve_until_stopped();
  int next_wait_ms() const;
  /// Accepts connections that wait. The listener is reported again if there are more.
  void accept_all();
  /// Closes the connection that has waited longest without joining, if that is at least `waited`. Returns whether there
  /// was one.
  bool make_room(clock::duration waited);
  void close_forgotten();
  /// After a failed accept(): if it lacked a descriptor, makes one free. If it can't, or if there was no memory, waits
  /// a little, since the connection still waits and is reported again at once.
  void wait_if_short(int error);
  void attend(member& m, uint32_t events);
  void handle(member& m, const frame& f);
  void join(member& m, const frame& f);
  void admit(member& m);
  void count_rejected(const member& m, const std::string& why);
  void turn_away(member& m, const std::string& why);
  void put(member& m, const frame& f);
  void answer_get(member& m, const frame& f);
  void answer_get_all(member& m, const frame& f);
  void enter_fence(member& m, const frame& f);
  void fail_fence(const std::string& why);
  void check_deadlines();
  void abort_all(member& by, const frame& f);
  void garbage(member& m, const std::string& what);
  void send(member& m, kind what, const std::string& body);
  void forget(member& m);
  std::string missing_text() const;

  const int size_;
  const job_key key_;
  const std::string job_id_;
  socket_fd listener_, events_, wake_;
  member_map members_;          // by descriptor
  std::vector<member*> ranks_;  // by rank; null: has not joined, or has left
  std::vector<bool> has_left_;  // by rank: has joined and left
  std::map<std::string, std::string> visible_, pending_;
  std::vector<int> forgotten_;  // descriptors to close after the current batch of events
  bool has_warned_ = false;     // of too few descriptors
  int n_waiting_ = 0;           // ranks in the fence
  clock::time_point fence_end_{};
  std::string failure_;        // why every further fence fails; empty: none has
  std::string last_rejected_;  // for the message that names missing ranks
  int n_rejected_ = 0;
  double close_timeout_ = 0;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace lci::network::tcp
