// PMI-1's wire format: lines of `name=value` fields, one of which is `cmd`. Used by the client in this folder and by
// lcirun's server. Input is untrusted: everything is checked, and nothing throws.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lci::network::pmi1 {

/// Limits that hydra, Slurm and lcirun grant, terminating zero included.
constexpr size_t kvsname_max = 256;
constexpr size_t key_max = 64;
constexpr size_t value_max = 1024;
/// A longer line is malformed. The longest valid one is a put of well under 2 KiB.
constexpr size_t max_line = 8192;
constexpr size_t max_fields = 32;

/// An extension of lcirun: a rank in a barrier asks which ranks have not arrived. Names of lcirun's jobs begin with
/// `lcirun_job`.
constexpr std::string_view ask_missing = "lci_missing";
constexpr std::string_view missing_reply = "lci_missing_result";
constexpr std::string_view lcirun_job = "lcirun_";

/// A decimal number that fills `text` and fits into an int; else nothing.
std::optional<int> parse_int(std::string_view text);

/// Untrusted text for an error message: shortened, on one line, control characters replaced.
std::string printable(std::string_view text);

/// One parsed line. A value type that shares no state.
class message {
 public:
  /// `line` comes without its newline. Returns nothing if it is not a PMI-1 line, with the reason in `why`.
  static std::optional<message> parse(std::string_view line, std::string& why);

  /// The value of a field, or nullptr.
  const std::string* find(std::string_view name) const;
  /// The value of a field, or an empty text.
  const std::string& text(std::string_view name) const;
  std::optional<int> number(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Splits a byte stream into lines, however the bytes arrive.
class line_buffer {
 public:
  void append(const char* data, size_t size);
  /// Removes the next complete line and returns it without newline. Returns false if no line is complete yet.
  bool next(std::string& line);
  /// Returns whether the incomplete line is already longer than max_line.
  bool overlong() const { return bytes_.size() - begin_ > max_line; }
  /// The bytes of the incomplete line.
  std::string_view rest() const { return std::string_view(bytes_).substr(begin_); }

 private:
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace lci::network::pmi1
