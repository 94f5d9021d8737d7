#include "lib/bootstrap/pmi1_value.hpp"

#include <array>
#include <cstdint>

#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network::pmi1 {

namespace {

// base64url without padding: '=' would end a field's name.
constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<int8_t, 256> digits = [] {
  std::array<int8_t, 256> table{};
  for (auto& digit : table) digit = -1;
  for (int i = 0; i < 64; ++i) table[static_cast<unsigned char>(alphabet[i])] = int8_t(i);
  return table;
}();

std::string encode(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (count += 8; count >= 6; count -= 6) text += alphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) text += alphabet[bits << (6 - count) & 63];
  return text;
}

bool decode(const std::string& text, size_t begin, std::string& bytes, uint32_t& bits, int& count) {
  for (size_t i = begin; i < text.size(); ++i) {
    const int8_t digit = digits[static_cast<unsigned char>(text[i])];
    if (digit < 0) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count);
    }
  }
  return true;
}

struct head {
  size_t pieces, bytes, length;
};

std::optional<head> parse_head(const std::string& first) {
  const size_t dot1 = first.find('.');
  if (dot1 == std::string::npos) return std::nullopt;
  const size_t dot2 = first.find('.', dot1 + 1);
  if (dot2 == std::string::npos) return std::nullopt;
  const auto pieces = parse_int(std::string_view(first).substr(0, dot1));
  const auto bytes = parse_int(std::string_view(first).substr(dot1 + 1, dot2 - dot1 - 1));
  if (!pieces || *pieces < 1 || size_t(*pieces) > max_pieces) return std::nullopt;
  if (!bytes || *bytes < 0 || size_t(*bytes) > max_value_bytes) return std::nullopt;
  return head{size_t(*pieces), size_t(*bytes), dot2 + 1};
}

}  // namespace

std::vector<std::string> to_pieces(const std::string& bytes, size_t piece_length) {
  const std::string text = encode(bytes);
  constexpr size_t head_length = 16;  // room for the two numbers and their dots
  size_t count = 1;
  if (text.size() > piece_length - head_length) {
    const size_t rest = text.size() - (piece_length - head_length);
    count += (rest + piece_length - 1) / piece_length;
  }
  std::vector<std::string> pieces;
  pieces.push_back(std::to_string(count) + "." + std::to_string(bytes.size()) + "." +
                   text.substr(0, piece_length - head_length));
  for (size_t at = piece_length - head_length; pieces.size() < count; at += piece_length) {
    pieces.push_back(text.substr(at, piece_length));
  }
  return pieces;
}

std::optional<size_t> piece_count(const std::string& first) {
  const auto parsed = parse_head(first);
  if (!parsed) return std::nullopt;
  return parsed->pieces;
}

std::optional<std::string> from_pieces(const std::vector<std::string>& pieces) {
  if (pieces.empty()) return std::nullopt;
  const auto parsed = parse_head(pieces[0]);
  if (!parsed || parsed->pieces != pieces.size()) return std::nullopt;
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!decode(pieces[i], i == 0 ? parsed->length : 0, bytes, bits, count)) return std::nullopt;
    if (bytes.size() > max_value_bytes) return std::nullopt;
  }
  if (bytes.size() != parsed->bytes) return std::nullopt;
  return bytes;
}

}  // namespace lci::network::pmi1
