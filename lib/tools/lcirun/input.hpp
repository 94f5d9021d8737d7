// Forwards lcirun's standard input to a rank 0 on another host.
#pragma once

#include <string>

#include "lib/tools/lcirun/connection.hpp"

namespace lci::launcher {

/// Limit of bytes in flight to the rank.
constexpr size_t input_window = size_t(1) << 16;

/// lcirun's side. Closes standard input as soon as no one reads it, so that its writer notices.
class input_sender {
 public:
  input_sender(event_loop& loop, connection& to);
  ~input_sender() { stop(); }
  input_sender(const input_sender&) = delete;
  input_sender& operator=(const input_sender&) = delete;

  /// The rank has read `bytes` more.
  void taken(size_t bytes);
  void stop();

 private:
  void read_some();
  void settle();

  event_loop& loop_;
  connection& to_;
  size_t sent_ = 0;  // bytes in flight
  bool open_ = true, watched_ = false, plain_file_ = false;
};

/// The proxy's side: writes to the rank's pipe, which it owns.
class input_receiver {
 public:
  input_receiver(event_loop& loop, connection& from, int pipe);
  ~input_receiver() { close(); }
  input_receiver(const input_receiver&) = delete;
  input_receiver& operator=(const input_receiver&) = delete;

  /// Returns false if the sender exceeds the window.
  bool add(std::string_view bytes);

 private:
  void write_some();
  void settle();
  void close();

  event_loop& loop_;
  connection& from_;
  int pipe_;
  std::string waiting_;
  bool watched_ = false, ends_ = false;
};

}  // namespace lci::launcher
