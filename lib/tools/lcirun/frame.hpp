// The messages between lcirun and its proxies, the processes that it has started on other hosts. A message is a frame:
// its length, its type and its fields. Frames that arrive are untrusted: every read is checked.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lci::launcher {

enum class frame_t : uint8_t {
  setup = 1,  // on the proxy's standard input: what to do, and the key
  // from a proxy
  started,      // rank, process number
  requests,     // rank, PMI bytes
  no_requests,  // rank: it has closed its PMI connection
  unread,       // rank: an answer could not be sent, since the rank does not read its PMI connection
  output,       // rank, stream, bytes
  output_end,   // rank, stream
  exited,       // rank, wait status
  gone,         // all processes of the job on this host have exited
  done,         // after `gone`: all output has been sent
  orphaned,     // reason: the proxy kills its ranks without a request of lcirun
  input_taken,  // bytes of input that rank 0 has read
  input_closed,
  report,  // text for the user
  // to a proxy
  answer,        // rank, PMI bytes
  forward,       // signal, for ranks
  signal_all,    // signal, for all processes of the job
  taken,         // stream, bytes of output that lcirun has written
  close_output,  // stream
  input,         // bytes; none: end of input
  last = input
};

/// Longer frames are rejected. A setup contains an environment, which Linux allows to be several MiB.
constexpr size_t max_setup = size_t(1) << 24;
constexpr size_t max_frame = size_t(1) << 17;
constexpr size_t frame_header = 5;  // length of what follows it, little endian; type

/// Composes a frame: its fields in order, then take(). Used by one thread.
class frame_writer {
 public:
  explicit frame_writer(frame_t type) : bytes_(frame_header, '\0') { bytes_[4] = static_cast<char>(type); }
  frame_writer& number(int64_t value) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(uint64_t(value) >> (8 * i));
    return *this;
  }
  frame_writer& text(std::string_view value) {
    number(int64_t(value.size()));
    bytes_ += value;
    return *this;
  }
  /// Returns the frame, which the writer no longer owns.
  std::string take() {
    const size_t size = bytes_.size() - frame_header;
    for (size_t i = 0; i < 4; ++i) bytes_[i] = static_cast<char>(size >> (8 * i));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

/// Reads the fields of a frame, in order; does not own them. A read beyond the end, or of an invalid number, makes the
/// frame bad: it and all later reads return 0 or an empty text. Used by one thread.
class frame_reader {
 public:
  explicit frame_reader(std::string_view fields) : rest_(fields) {}
  int64_t number() {
    if (rest_.size() < 8) return spoil();
    uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(rest_[size_t(i)]);
    rest_.remove_prefix(8);
    return int64_t(value);
  }
  /// A number from `least` to `most`; any other number makes the frame bad.
  int number(int64_t least, int64_t most) {
    const int64_t value = number();
    return value < least || value > most ? spoil() : int(value);
  }
  std::string_view text() {
    const int64_t size = number();
    if (size < 0 || uint64_t(size) > rest_.size()) {
      spoil();
      return {};
    }
    const auto value = rest_.substr(0, size_t(size));
    rest_.remove_prefix(size_t(size));
    return value;
  }
  bool good() const { return good_; }
  /// Returns whether the frame is good, and all its fields have been read.
  bool complete() const { return good_ && rest_.empty(); }

 private:
  int spoil() {
    good_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool good_ = true;
};

/// Splits the bytes of a connection into frames. Owns bytes that were received and not consumed. Used by one thread.
class frame_buffer {
 public:
  explicit frame_buffer(size_t most) : most_(most) {}
  void append(const char* data, size_t size) { bytes_.append(data, size); }
  /// Returns the next complete frame, valid until the next append(). Returns false if none is complete yet, or if the
  /// stream is bad().
  bool next(frame_t& type, std::string_view& fields);
  /// Returns whether the stream contained an unknown type or a frame that is too long.
  bool bad() const { return bad_; }

 private:
  const size_t most_;
  std::string bytes_;
  size_t begin_ = 0;
  bool bad_ = false;
};

}  // namespace lci::launcher
