#include "lib/tools/lcirun/connection.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lci::launcher {

namespace {

// Limit of bytes queued for a peer that does not read. Output has a much smaller window of its own.
constexpr size_t longest_queue = size_t(1) << 28;

}  // namespace

connection::connection(event_loop& loop, int fd, size_t longest_frame, handlers call)
    : loop_(loop), fd_(fd), received_(longest_frame), call_(std::move(call)) {
  make_nonblocking(fd_);
  watch();
}

void connection::send(frame_writer& frame) {
  if (!open()) return;
  queue_ += frame.take();
  if (queue_.size() - done_ > longest_queue) return end("it does not read what it is sent");
  // The event loop reports errors, so that send() never calls on_end in the middle of its caller's work.
  if (watched_ & EPOLLOUT) return;
  const ssize_t n = ::write(fd_, queue_.data() + done_, queue_.size() - done_);
  if (n > 0) done_ += size_t(n);
  if (done_ == queue_.size()) {
    queue_.clear();
    done_ = 0;
  }
  watch();
}

void connection::close() {
  if (!open()) return;
  if (watched_ != 0) loop_.forget(fd_);
  ::close(fd_);
  fd_ = -1;
  watched_ = 0;
  queue_.clear();
  done_ = 0;
}

void connection::watch() {
  uint32_t wanted = 0;
  if (call_.on_frame) wanted |= EPOLLIN;
  if (!queue_.empty()) wanted |= EPOLLOUT;
  if (wanted == watched_) return;
  if (watched_ != 0) loop_.forget(fd_);
  if (wanted != 0) loop_.watch(fd_, wanted, [this] { ready(); });
  watched_ = wanted;
}

void connection::ready() {
  if (open() && !queue_.empty()) write_some();
  if (open() && call_.on_frame) read_some();
}

void connection::write_some() {
  const ssize_t n = ::write(fd_, queue_.data() + done_, queue_.size() - done_);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) end(strerror(errno));
    return;
  }
  done_ += size_t(n);
  if (done_ > queue_.size() / 2) {
    queue_.erase(0, done_);
    done_ = 0;
  }
  watch();
}

void connection::read_some() {
  char bytes[65536];
  const ssize_t n = ::read(fd_, bytes, sizeof bytes);
  if (n < 0) {
    if (errno != EAGAIN && errno != EINTR) end(strerror(errno));
    return;
  }
  if (n == 0) return end("it was closed");
  received_.append(bytes, size_t(n));
  frame_t type{};
  std::string_view fields;
  while (open() && received_.next(type, fields)) {
    frame_reader reader(fields);
    if (!call_.on_frame(type, reader) || !reader.complete()) {
      return end("a bad frame came (type " + std::to_string(int(type)) + ")");
    }
  }
  if (open() && received_.bad()) end("invalid bytes came, not lcirun's protocol");
}

void connection::end(const std::string& why) {
  if (!open()) return;
  close();
  call_.on_end(why);
}

void watch_peer(int socket, double seconds) {
  const auto set = [socket](int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof value); };
  const int idle = std::clamp(int(seconds / 3), 1, 10000);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, idle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, idle);
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, int(std::clamp(seconds, 1.0, 1e5) * 1e3));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

void make_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace lci::launcher
