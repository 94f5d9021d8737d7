// Bulk transfers between a file and the memory of a client, in pieces.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <lci.hpp>
#include <vector>

#include "../protocol.hpp"
#include "file_jobs.hpp"
#include "session.hpp"

namespace io_server {

/// The buffers of a thread, and transfers through them. While the network transfers one piece, the thread reads the
/// next from the file, or writes the previous one to it. Not thread-safe.
class transfer_buffers {
 public:
  /// `on_failure` is called with the id of each client that fails during a transfer, also of other clients.
  transfer_buffers(lci::device_t device, std::function<void(int)> on_failure);
  ~transfer_buffers();
  transfer_buffers(const transfer_buffers&) = delete;
  transfer_buffers& operator=(const transfer_buffers&) = delete;

  /// Called once during a long transfer, so that another thread can become the leader.
  std::function<void()> on_delay;

  /// read() transfers from the file to the client's memory, beginning at byte `h.c` of that memory; write() transfers
  /// from the beginning of that memory to the file. Both return 0 or an errno, and store the number of transferred
  /// bytes in `answer.result`. EIO: the client has failed, or made no progress for long.
  int read(const open_file& file, int client, const request& h, reply& answer);
  int write(const open_file& file, int client, const request& h, reply& answer);

 private:
  // Bytes of a piece. In shared memory the post copies the data, so a piece should fit in the processor's cache, where
  // the second copy finds it. Over TCP, larger pieces keep the connection busy.
  static constexpr size_t near_piece = size_t{128} << 10, far_piece = size_t{256} << 10;
  static constexpr size_t n_pieces = file_jobs::most;

  // Pieces begin at a page, as the pages of the file do. malloc() returns large blocks 16 bytes behind a page; to there
  // the kernel copies a file up to five times slower on AMD EPYC 7003 (docs/decisions/0052).
  struct alignas(4096) page {
    char bytes[4096];
  };

  enum class state : unsigned char { free, under_way, arrived };
  struct piece {
    char* memory = nullptr;
    size_t size = 0;
    size_t disp = 0;  ///< in the client's memory
    state is = state::free;
  };

  /// Posts a put from the piece's memory, or a get into it. Returns false if the client has failed.
  bool post(piece& p, lci::direction_t direction, int client, const lci::rmr_t& memory);
  /// Waits until the operation of this piece has completed. Returns false if the transfer has failed.
  bool settle(piece& p, int client);
  void settle_all(int client);
  void poll();
  int file_to_client(int fd, int client, const request& h, size_t size, size_t& total);
  /// Calls write(memory, size, offset) for each piece of the client's memory; it returns as write_part() does.
  template <class Write>
  int from_client(int client, const request& h, size_t size, size_t& total, Write write);
  int client_to_file(const open_file& file, int client, const request& h, size_t size, size_t& total);
  int append(const open_file& file, int client, const request& h, size_t size, size_t& total);
  /// Returns whether a second thread should read or write the file meanwhile.
  bool overlaps(size_t size) const;
  int read_overlapped(const open_file& file, int client, const request& h, size_t size, size_t& total);
  int write_overlapped(const open_file& file, int client, const request& h, size_t size, size_t& total);

  lci::device_t device_;
  lci::comp_t ends_;  // a queue
  std::function<void(int)> on_failure_;
  std::vector<page> memory_;
  std::vector<piece> pieces_;
  file_jobs jobs_;
  bool failed_ = false;  // the current transfer has failed
  size_t piece_size_;    // the best size for the previous transfer's client, which was in shared memory or on TCP
};

}  // namespace io_server
