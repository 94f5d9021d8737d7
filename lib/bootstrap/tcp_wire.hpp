// What ranks and the root of a tcp bootstrap say to each other: frames of a length, a kind and a body.
// Whatever comes in may be garbage: nothing is trusted, nothing is thrown.
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
  welcome,    ///< root: the job's name
  refused,    ///< root: why; the connection ends
  // afterwards
  put,      ///< rank: key, value; no answer
  get,      ///< rank: key
  value,    ///< root: whether it is there, value
  get_all,  ///< rank: prefix of keys
  values,   ///< root: how many are in this frame (fewer than asked for: more follow), each one
  missing,  ///< root: instead of values: the first rank without one
  fence,    ///< rank: milliseconds that it is going to wait
  fenced,   ///< root: all have come
  failed,   ///< root: instead of fenced: why
  abort,    ///< either: exit code, message
  goodbye,  ///< rank: it needs nothing any more
};
constexpr uint8_t last_kind = static_cast<uint8_t>(kind::goodbye);

constexpr char magic[] = "LCI tcp 1";
constexpr size_t nonce_size = 32;
constexpr size_t head_size = 5;
/// The longest body before a rank has joined, and after.
constexpr size_t max_join_body = 512;
constexpr size_t max_body = 1 << 20;
/// The longest text of another's that ends up in an error message.
constexpr size_t max_text = 400;

struct frame {
  kind what;
  std::string body;
};

/// The bytes of one frame.
std::string encode(kind what, std::string_view body);

/// Puts a body together.
class writer {
 public:
  writer& number(uint32_t value);
  writer& text(std::string_view bytes);
  const std::string& body() const { return body_; }

 private:
  std::string body_;
};

/// Takes a body apart. After the first thing that is not there, nothing is, and good() says so.
class reader {
 public:
  explicit reader(std::string_view body) : rest_(body) {}
  uint32_t number();
  /// Of at most `longest` bytes.
  std::string text(size_t longest);
  bool good() const { return good_; }
  /// Nothing was missing and nothing is left.
  bool complete() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// Cuts a byte stream into frames, however the bytes arrive.
class frame_buffer {
 public:
  enum class state { partial, whole, garbage };
  void append(const char* data, size_t size);
  /// Takes the next frame out. Garbage: an unknown kind, or a body longer than `longest`.
  state next(frame& out, size_t longest);

 private:
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace lci::network::tcp
