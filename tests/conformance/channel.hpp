// The transport of a control between processes: texts of less than 200 KB between rank 0 and the others.
#pragma once

#include <memory>
#include <string>

namespace conf {

/// Sends and receives texts; neither call waits. Used by one thread at a time. A fatal error ends the process.
class channel {
 public:
  virtual ~channel() = default;
  /// Returns false if the text can't be sent yet: rank 0 has no connection with `to`, or the peer is not ready.
  virtual bool send(int to, const std::string& text) = 0;
  /// Returns false if there is no text. Rank 0 receives the texts of all others, which receive rank 0's.
  virtual bool receive(std::string& text) = 0;
};

/// For ranks whose parent is the same process.
std::unique_ptr<channel> make_host_channel(int rank);
/// For ranks on several hosts. Rank 0 listens at `meeting`, "ADDRESS:PORT" with an IPv4 address of its host.
std::unique_ptr<channel> make_tcp_channel(int rank, int size, const std::string& meeting);

/// Prints what failed and the text of errno, and ends the process.
[[noreturn]] void channel_failed(const char* what);

}  // namespace conf
