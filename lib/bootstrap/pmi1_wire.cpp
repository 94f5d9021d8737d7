#include "lib/bootstrap/pmi1_wire.hpp"

#include <charconv>

namespace lci::network::pmi1 {

namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::string printable(std::string_view text) {
  constexpr size_t longest = 80;
  std::string shown(text.substr(0, longest));
  for (char& c : shown) {
    if (is_control(c) || static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  if (text.size() > longest) shown += "... (" + std::to_string(text.size()) + " bytes)";
  return shown;
}

std::optional<message> message::parse(std::string_view line, std::string& why) {
  if (line.size() > max_line) {
    why = "a line longer than " + std::to_string(max_line) + " bytes";
    return std::nullopt;
  }
  for (const char c : line) {
    if (is_control(c)) {
      why = "a line with control characters";
      return std::nullopt;
    }
  }
  message result;
  size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view field = line.substr(at, end - at);
    at = end;
    const size_t equals = field.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      why = "a field without name or '='";
      return std::nullopt;
    }
    const std::string_view name = field.substr(0, equals);
    if (result.find(name) != nullptr) {
      why = "a field given twice";
      return std::nullopt;
    }
    if (result.fields_.size() == max_fields) {
      why = "more than " + std::to_string(max_fields) + " fields";
      return std::nullopt;
    }
    result.fields_.emplace_back(name, field.substr(equals + 1));
  }
  if (result.text("cmd").empty() && result.text("mcmd").empty()) {
    why = "no cmd= field";
    return std::nullopt;
  }
  return result;
}

const std::string* message::find(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.first == name) return &field.second;
  }
  return nullptr;
}

const std::string& message::text(std::string_view name) const {
  static const std::string nothing;
  const std::string* value = find(name);
  return value == nullptr ? nothing : *value;
}

std::optional<int> message::number(std::string_view name) const {
  const std::string* value = find(name);
  return value == nullptr ? std::nullopt : parse_int(*value);
}

void line_buffer::append(const char* data, size_t size) {
  // The buffer never holds more than a few lines, so moving the rest to the front is cheap.
  bytes_.erase(0, begin_);
  begin_ = 0;
  bytes_.append(data, size);
}

bool line_buffer::next(std::string& line) {
  const size_t newline = bytes_.find('\n', begin_);
  if (newline == std::string::npos) return false;
  line.assign(bytes_, begin_, newline - begin_);
  begin_ = newline + 1;
  return true;
}

}  // namespace lci::network::pmi1
