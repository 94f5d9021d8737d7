// Bulk transfers: between a file and the memory of a client, piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <lci.hpp>
#include <vector>

#include "../protocol.hpp"
#include "session.hpp"

namespace io_server {

/// A thread's buffers. While one piece is under way in the network, the next is read from the file (or the previous one
/// written to it). Not thread-safe.
class transfer_buffers {
 public:
  /// `on_failure` learns of clients that have failed, also of others than the one that is served.
  transfer_buffers(lci::device_t device, std::function<void(int)> on_failure);
  ~transfer_buffers();
  transfer_buffers(const transfer_buffers&) = delete;
  transfer_buffers& operator=(const transfer_buffers&) = delete;

  /// Called once if a transfer lasts long, so that other threads take over what this one did besides.
  std::function<void()> on_delay;

  /// From the file into the client's memory, and back. Return an errno; `answer.result` is how much was transferred. EIO:
  /// the client has failed, or has not moved for long.
  int read(const open_file& file, int client, const request& h, reply& answer);
  int write(const open_file& file, int client, const request& h, reply& answer);

 private:
  enum class state : unsigned char { free, under_way, arrived };
  struct piece {
    char* memory = nullptr;
    size_t size = 0;
    size_t disp = 0;  ///< in the client's memory
    state is = state::free;
  };

  /// A put from the piece's memory, or a get into it.
  bool post(piece& p, lci::direction_t direction, int client, const lci::rmr_t& memory);
  /// Waits until this piece is no longer under way. False: the transfer has failed.
  bool settle(piece& p, int client);
  void settle_all(int client);
  int file_to_client(int fd, int client, const request& h, size_t size, size_t& total);

  lci::device_t device_;
  lci::comp_t ends_;  // a queue
  std::function<void(int)> on_failure_;
  std::vector<char> memory_;
  std::vector<piece> pieces_;
  bool failed_ = false;  // of the transfer under way
  size_t piece_size_;    // what the transfer before has shown to be best; clients of both kinds are served
};

}  // namespace io_server
