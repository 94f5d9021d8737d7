// A machine that runs ranks: this one, or another through a proxy.
#pragma once

#include <sys/types.h>

#include <string>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// A rank's streams, numbered by their descriptors.
constexpr int stream_out = 1, stream_error = 2;

class host;

/// Receives the events of a host, in the order in which they happen there.
class host_events {
 public:
  virtual ~host_events() = default;
  virtual void on_started(int rank, pid_t pid) = 0;
  /// PMI requests have arrived.
  virtual void on_requests(int rank, const char* data, size_t size) = 0;
  virtual void on_no_requests(int rank) = 0;
  /// The rank sends requests without reading the answers.
  virtual void on_unread(int rank) = 0;
  /// Called only if the host captures output.
  virtual void on_output(int rank, int stream, const char* data, size_t size) = 0;
  virtual void on_output_end(int rank, int stream) = 0;
  virtual void on_exit(int rank, int wait_status) = 0;
  /// A text for the user, which an option has asked for.
  virtual void on_report(const std::string& text) = 0;
  /// The host will report no more events; its ranks are lost.
  virtual void on_lost(host& where, const std::string& why) = 0;
};

/// Not thread-safe. Commands may call host_events before they return.
class host {
 public:
  explicit host(host_share share) : share_(std::move(share)) {}
  virtual ~host() = default;
  const host_share& share() const { return share_; }

  virtual void start() = 0;
  /// Sends the PMI server's answer to a rank.
  virtual void send(int rank, const std::string& text) = 0;
  /// Sends a signal to the ranks only.
  virtual void forward(int signal) = 0;
  /// Sends a signal to all processes of the job. Returns an upper bound of their number.
  virtual int signal_all(int signal) = 0;
  /// Pauses or resumes reading of the ranks' streams; they are read from the start.
  virtual void read_output(int stream, bool yes) = 0;
  /// Stops reading a stream for good: its writers get SIGPIPE.
  virtual void close_output(int stream) = 0;
  /// Reaps processes that have ended. Called once per turn of the event loop.
  virtual void update() = 0;
  /// Returns whether no process of the job is left on the host.
  virtual bool empty() const = 0;
  /// Returns whether empty() holds and no event is outstanding.
  virtual bool finished() const { return empty(); }
  /// The latest time for the next update(); 0: none.
  virtual double deadline() const { return 0; }
  /// Returns whether ranks are out of reach of signals from lcirun's terminal.
  virtual bool away() const { return false; }

 private:
  const host_share share_;
};

}  // namespace lci::launcher
