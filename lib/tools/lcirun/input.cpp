#include "lib/tools/lcirun/input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace lci::launcher {

namespace {

/// Another process may have the same pipe or terminal as its input, and read what epoll has reported to this one: the
/// event loop would wait in read() for more. A flag of the descriptor would apply to that process as well, so the file
/// is opened again.
void open_input_without_waiting() {
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0 || (!S_ISFIFO(info.st_mode) && isatty(STDIN_FILENO) == 0)) return;
  const int own = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (own < 0) return;  // another user has opened it
  dup2(own, STDIN_FILENO);
  close(own);
}

ssize_t read_input(char* bytes, size_t size) {
  const ssize_t n = recv(STDIN_FILENO, bytes, size, MSG_DONTWAIT);
  return n < 0 && errno == ENOTSOCK ? read(STDIN_FILENO, bytes, size) : n;
}

}  // namespace

input_sender::input_sender(event_loop& loop, connection& to) : loop_(loop), to_(to) {
  open_input_without_waiting();
  settle();
}

void input_sender::settle() {
  const bool wanted = open_ && sent_ < input_window;
  if (wanted && !watched_) {
    watched_ = loop_.watch(STDIN_FILENO, EPOLLIN, [this] { read_some(); });
    plain_file_ = !watched_;
  } else if (!wanted && watched_) {
    loop_.forget(STDIN_FILENO);
    watched_ = false;
  }
  while (plain_file_ && open_ && sent_ < input_window) read_some();  // never blocks
}

void input_sender::read_some() {
  char bytes[16384];
  const ssize_t n = read_input(bytes, std::min(sizeof bytes, input_window - sent_));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  // An error also ends the input, for example of a terminal for which this job is in the background.
  frame_writer frame(frame_t::input);
  to_.send(frame.text({bytes, n > 0 ? size_t(n) : 0}));
  if (n <= 0) return stop();
  sent_ += size_t(n);
  if (!plain_file_) settle();
}

void input_sender::taken(size_t bytes) {
  sent_ -= std::min(sent_, bytes);
  settle();
}

void input_sender::stop() {
  if (!open_) return;
  open_ = false;
  if (watched_) loop_.forget(STDIN_FILENO);
  watched_ = false;
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (null > STDIN_FILENO) close(null);
}

input_receiver::input_receiver(event_loop& loop, connection& from, int pipe) : loop_(loop), from_(from), pipe_(pipe) {
  make_nonblocking(pipe_);
  settle();
}

bool input_receiver::add(std::string_view bytes) {
  if (ends_ || waiting_.size() + bytes.size() > input_window) return false;
  if (bytes.empty()) ends_ = true;
  waiting_ += bytes;
  settle();
  return true;
}

void input_receiver::settle() {
  if (pipe_ < 0) return;
  if (ends_ && waiting_.empty()) return close();
  // Watched even with nothing to write: epoll reports an error when the rank has closed its end.
  if (watched_) loop_.forget(pipe_);
  uint32_t wanted = 0;
  if (!waiting_.empty()) wanted |= EPOLLOUT;
  watched_ = loop_.watch(pipe_, wanted, [this] { write_some(); });
}

void input_receiver::write_some() {
  if (pipe_ < 0) return;
  // A write of 0 bytes also fails if there is no reader.
  const ssize_t n = write(pipe_, waiting_.data(), waiting_.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0 || waiting_.empty()) {
    close();
    frame_writer frame(frame_t::input_closed);
    from_.send(frame);
    return;
  }
  waiting_.erase(0, size_t(n));
  frame_writer frame(frame_t::input_taken);
  from_.send(frame.number(n));
  settle();
}

void input_receiver::close() {
  if (pipe_ < 0) return;
  if (watched_) loop_.forget(pipe_);
  ::close(pipe_);
  pipe_ = -1;
  waiting_.clear();
}

}  // namespace lci::launcher
