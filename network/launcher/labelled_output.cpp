#include "network/launcher/labelled_output.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace lci::launcher {

labelled_output::labelled_output(event_loop& loop)
    : loop_(loop), out_(STDOUT_FILENO), error_(STDERR_FILENO) {}

void labelled_output::add(int rank, int out, int error) {
  add_source(rank, out, out_);
  add_source(rank, error, error_);
}

void labelled_output::add_source(int rank, int fd, stream& to) {
  source& added = sources_.emplace_back(source{fd, &to, line_labeller(rank, to.output)});
  ++open_;
  loop_.watch(fd, EPOLLIN, [this, &added] { read(added); });
}

bool labelled_output::finished() const {
  return open_ == 0 && out_.output.empty() && error_.output.empty();
}

void labelled_output::drop() {
  for (source& each : sources_) {
    if (each.fd >= 0) close_source(each);
  }
  out_.output.drop();
  error_.output.drop();
}

void labelled_output::read(source& from) {
  char bytes[16384];
  const ssize_t n = ::read(from.fd, bytes, sizeof bytes);
  if (n > 0) {
    from.lines.feed(bytes, size_t(n));
  } else if (n == 0 || errno != EINTR) {
    from.lines.finish();
    close_source(from);
  }
  settle(*from.to);
}

void labelled_output::close_source(source& from) {
  if (!from.to->paused) loop_.forget(from.fd);
  close(from.fd);
  from.fd = -1;
  --open_;
}

void labelled_output::write(stream& to) {
  to.output.write_some();
  settle(to);
}

void labelled_output::settle(stream& to) {
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
    // As with a plain pipe whose reader is gone: the ranks learn of it by SIGPIPE.
    for (source& each : sources_) {
      if (each.to == &to && each.fd >= 0) close_source(each);
    }
  } else if (to.output.full() != to.paused) {
    for (source& each : sources_) {
      if (each.to != &to || each.fd < 0) continue;
      if (to.paused) {
        loop_.watch(each.fd, EPOLLIN, [this, &each] { read(each); });
      } else {
        loop_.forget(each.fd);
      }
    }
    to.paused = !to.paused;
  }
}

}  // namespace lci::launcher
