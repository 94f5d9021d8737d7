// The protocol between ranks and the root of a tcp bootstrap: frames of a length, a kind and a body. Input is
// untrusted: everything is checked, and nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lci::network::tcp {

enum class kind : uint8_t {
  // joining
  hello = 1,  ///< rank: magic, rank, size, whether it has a key, nonce
  challenge,  ///< root: magic, nonce, proof that it has the key
  proof,      ///< rank: proof that it has the key
  welcome,    ///< root: the job's id
  refused,    ///< root: reason; the connection is closed
  // afterwards
  put,      ///< rank: key, value; no answer
  get,      ///< rank: key
  value,    ///< root: whether the key was found, value
  get_all,  ///< rank: prefix of keys
  values,   ///< root: number of values in this frame, then each; more frames follow until all ranks' are sent
  missing,  ///< root: instead of values: the first rank without a value
  fence,    ///< rank: its timeout in milliseconds
  fenced,   ///< root: all ranks have arrived
  failed,   ///< root: instead of fenced: reason
  abort,    ///< either: exit code, message
  close,    ///< rank: close notification
};
constexpr uint8_t last_kind = static_cast<uint8_t>(kind::close);

constexpr char magic[] = "LCI tcp 1";
constexpr size_t nonce_size = 32;
constexpr size_t head_size = 5;
/// Limits of bodies before a rank has joined, and after.
constexpr size_t max_join_body = 512;
constexpr size_t max_body = 1 << 20;
/// Limit of text from a peer in an error message.
constexpr size_t max_text = 400;

struct frame {
  kind what;
  std::string body;
};

/// Encodes one frame.
std::string encode(kind what, std::string_view body);

/// Builds a body.
class writer {
 public:
  writer& number(uint32_t value);
  writer& text(std::string_view bytes);
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

/// Parses a body. After the first field that is missing or too long, all further ones are empty, and good() is false.
class reader {
 public:
  explicit reader(std::string_view body) : rest_(body) {}
  uint32_t number();
  /// At most `longest` bytes.
  std::string text(size_t longest);
  bool good() const { return good_; }
  /// Every field was present and no bytes are left.
  bool complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// Splits a byte stream into frames, however the bytes arrive.
class frame_buffer {
 public:
  enum class state { partial, whole, garbage };
  void append(const char* data, size_t size);
  /// Removes the next frame. Garbage: an unknown kind, or a body longer than `longest`.
  state next(frame& out, size_t longest);

 private:
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace lci::network::tcp
