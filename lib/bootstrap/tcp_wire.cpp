#include "lib/bootstrap/tcp_wire.hpp"

namespace lci::network::tcp {

namespace {

void put_number(std::string& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
}

uint32_t number_at(std::string_view bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  }
  return value;
}

}  // namespace

std::string encode(kind what, std::string_view body) {
  std::string bytes;
  put_number(bytes, static_cast<uint32_t>(body.size()));
  bytes += static_cast<char>(what);
  bytes += body;
  return bytes;
}

writer& writer::number(uint32_t value) {
  put_number(body_, value);
  return *this;
}

writer& writer::text(std::string_view bytes) {
  put_number(body_, static_cast<uint32_t>(bytes.size()));
  body_ += bytes;
  return *this;
}

uint32_t reader::number() {
  if (rest_.size() < 4) good_ = false;
  if (!good_) return 0;
  const uint32_t value = number_at(rest_);
  rest_.remove_prefix(4);
  return value;
}

std::string reader::text(size_t longest) {
  const size_t size = number();
  if (size > longest || size > rest_.size()) good_ = false;
  if (!good_) return {};
  std::string bytes(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return bytes;
}

void frame_buffer::append(const char* data, size_t size) {
  bytes_.erase(0, begin_);
  begin_ = 0;
  bytes_.append(data, size);
}

frame_buffer::state frame_buffer::next(frame& out, size_t longest) {
  const std::string_view waiting = std::string_view(bytes_).substr(begin_);
  if (waiting.size() < head_size) return state::partial;
  const size_t size = number_at(waiting);
  const auto what = static_cast<uint8_t>(waiting[4]);
  if (size > longest || what == 0 || what > last_kind) return state::garbage;
  if (waiting.size() < head_size + size) return state::partial;
  out.what = static_cast<kind>(what);
  out.body = waiting.substr(head_size, size);
  begin_ += head_size + size;
  return state::whole;
}

}  // namespace lci::network::tcp
