// What a control between processes talks through: texts of less than 200 KB between rank 0 and the others.
#pragma once

#include <memory>
#include <string>

namespace conf {

/// Neither call waits. Used by one thread at a time. What can't be mended ends the process.
class channel {
 public:
  virtual ~channel() = default;
  /// False: not now.
  virtual bool send(int to, const std::string& text) = 0;
  /// False: there is nothing. Rank 0 gets texts of all others, these get rank 0's.
  virtual bool receive(std::string& text) = 0;
};

/// For ranks that one process has started.
std::unique_ptr<channel> make_host_channel(int rank);
/// For ranks on several hosts. They meet at `meeting`, an IPv4 address of rank 0's host and a port.
std::unique_ptr<channel> make_tcp_channel(int rank, int size, const std::string& meeting);

/// Says what has failed, with errno's reason, and ends the process.
[[noreturn]] void channel_failed(const char* what);

}  // namespace conf
