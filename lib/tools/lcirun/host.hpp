// A machine that runs ranks, as the job sees it: this one, or another with a proxy.
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// Ranks' streams, by their descriptors.
constexpr int stream_out = 1, stream_error = 2;

class host;

/// What happens on a host, in the order in which it happens there.
class host_events {
 public:
  virtual ~host_events() = default;
  virtual void on_started(int rank, pid_t pid) = 0;
  /// Bytes of PMI requests.
  virtual void on_requests(int rank, const char* data, size_t size) = 0;
  virtual void on_no_requests(int rank) = 0;
  /// The rank sends requests without reading the answers.
  virtual void on_unread(int rank) = 0;
  /// Only of hosts that capture.
  virtual void on_output(int rank, int stream, const char* data, size_t size) = 0;
  virtual void on_output_end(int rank, int stream) = 0;
  virtual void on_exit(int rank, int wait_status) = 0;
  /// Something that the user has asked to be told.
  virtual void on_report(const std::string& text) = 0;
  /// Nothing will come from there any more; its ranks are lost.
  virtual void on_lost(host& where, const std::string& why) = 0;
};

/// Not thread-safe. Commands may cause events at once.
class host {
 public:
  explicit host(host_share share) : share_(std::move(share)) {}
  virtual ~host() = default;
  const host_share& share() const { return share_; }

  virtual void start() = 0;
  /// To a rank, from the PMI server.
  virtual void send(int rank, const std::string& text) = 0;
  /// To the ranks alone.
  virtual void forward(int signal) = 0;
  /// To all processes of the job. Returns how many there may be.
  virtual int signal_all(int signal) = 0;
  /// Whether to read the ranks' streams, which is done from the start.
  virtual void read_output(int stream, bool yes) = 0;
  /// Nobody wants what still comes: its writers get SIGPIPE.
  virtual void close_output(int stream) = 0;
  /// Looks after processes that have ended. Once in each turn of the event loop.
  virtual void update() = 0;
  /// No process of the job is left there.
  virtual bool empty() const = 0;
  /// Nor will anything come from there.
  virtual bool finished() const { return empty(); }
  /// When update() wants to be called at the latest; 0: it does not care.
  virtual double deadline() const { return 0; }
  /// Signals of this process's terminal don't reach its ranks.
  virtual bool away() const { return false; }

 private:
  const host_share share_;
};

}  // namespace lci::launcher
