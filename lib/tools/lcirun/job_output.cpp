#include "lib/tools/lcirun/job_output.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lib/tools/lcirun/host.hpp"
#include "lib/tools/lcirun/processes.hpp"

namespace lci::launcher {

namespace {

/// Returns 0, or the error.
int write_to_file(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : EIO;
    data += n;
    size -= size_t(n);
  }
  return 0;
}

}  // namespace

job_output::job_output(event_loop& loop, bool label, const output_files& files, handlers call)
    : loop_(loop),
      label_(label),
      files_(files),
      call_(std::move(call)),
      out_(stream_out, STDOUT_FILENO),
      error_(stream_error, STDERR_FILENO) {}

job_output::stream_state& job_output::state(int stream) { return stream == stream_error ? error_ : out_; }

line_labeller& job_output::lines(int rank, int stream) {
  return lines_.try_emplace({rank, stream}, rank, state(stream).output).first->second;
}

void job_output::feed(int rank, int stream, const char* data, size_t size) {
  const int file = files_.descriptor(rank, stream);
  if (file >= 0) {
    const int error = write_to_file(file, data, size);
    if (error != 0) lose("'" + files_.path_of(file) + "' (--output, --error)", error);
    return;
  }
  stream_state& to = state(stream);
  if (to.closed) return;
  if (label_) {
    lines(rank, stream).feed(data, size);
  } else {
    to.output.append({data, size});
  }
  settle(to);
}

void job_output::finish(int rank, int stream) {
  stream_state& to = state(stream);
  if (!label_ || to.closed) return;
  lines(rank, stream).finish();
  settle(to);
}

void job_output::drop() {
  for (stream_state* each : {&out_, &error_}) {
    each->output.drop();
    settle(*each);
    each->closed = true;
    call_.close(each->number);
  }
}

void job_output::write(stream_state& to) {
  to.output.write_some();
  settle(to);
}

void job_output::lose(const std::string& place, int error) {
  if (!lost_.insert(place).second) return;
  complain("cannot write to " + place + ": " + strerror(error) + "; output of ranks is lost");
}

void job_output::settle(stream_state& to) {
  if (!to.output.empty() && !to.watched) {
    to.watched = loop_.watch(to.output.fd(), EPOLLOUT, [this, &to] { write(to); });
    if (!to.watched) {  // a file: never blocks
      while (!to.output.empty()) to.output.write_some();
    }
  } else if (to.output.empty() && to.watched) {
    loop_.forget(to.output.fd());
    to.watched = false;
  }
  if (to.output.broken()) {
    // As with a plain pipe whose reader is gone: the ranks get SIGPIPE.
    if (to.closed) return;
    to.closed = true;
    if (to.output.error() != EPIPE) {
      lose(to.number == stream_error ? "standard error" : "standard output", to.output.error());
    }
    call_.close(to.number);
  } else if (to.output.full() != to.paused) {
    to.paused = !to.paused;
    call_.read(to.number, !to.paused);
  }
}

}  // namespace lci::launcher
