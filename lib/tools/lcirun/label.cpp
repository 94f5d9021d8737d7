#include "lib/tools/lcirun/label.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace lci::launcher {

void output_stream::append(const std::string& text) {
  if (broken()) return;
  if (done_ > 0 && done_ >= bytes_.size() / 2) {
    bytes_.erase(0, done_);
    done_ = 0;
  }
  bytes_ += text;
}

void output_stream::write_some() {
  if (empty()) return;
  // A pipe that polls as writable takes this much without blocking.
  const size_t size = std::min(bytes_.size() - done_, size_t(PIPE_BUF));
  const ssize_t n = write(fd_, bytes_.data() + done_, size);
  if (n >= 0) {
    done_ += size_t(n);
  } else if (errno != EINTR && errno != EAGAIN) {
    error_ = errno;
    drop();
  }
}

void output_stream::drop() {
  bytes_.clear();
  done_ = 0;
}

void line_labeller::feed(const char* data, size_t size) {
  while (size > 0) {
    const void* newline = memchr(data, '\n', size);
    const size_t length = newline == nullptr ? size : size_t(static_cast<const char*>(newline) - data);
    const size_t take = std::min(length, longest_line - line_.size());
    line_.append(data, take);
    data += take;
    size -= take;
    if (size == 0) break;
    emit();  // at a newline, or at the longest line
    if (take == length) {
      ++data;
      --size;
    }
  }
}

void line_labeller::finish() {
  if (!line_.empty()) emit();
}

void line_labeller::emit() {
  to_.append(label_ + line_ + "\n");
  line_.clear();
}

}  // namespace lci::launcher
