// PMI-1's wire format: lines of `name=value` fields, one of which is `cmd`. Used by the client here
// and by lcirun's server. Whatever comes in may be garbage: nothing is trusted, nothing is thrown.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lci::network::pmi1 {

/// Lengths that hydra, Slurm and lcirun grant, each with a terminating zero.
constexpr size_t kvsname_max = 256;
constexpr size_t key_max = 64;
constexpr size_t value_max = 1024;
/// A longer line is taken as garbage. The longest legal one is a put of well under 2 KiB.
constexpr size_t max_line = 8192;
constexpr size_t max_fields = 32;

/// lcirun alone answers this, within a barrier: who has not come. Its jobs' names begin so.
constexpr std::string_view ask_missing = "lci_missing";
constexpr std::string_view missing_reply = "lci_missing_result";
constexpr std::string_view lcirun_job = "lcirun_";

/// A whole decimal number that fits into an int, or nothing.
std::optional<int> parse_int(std::string_view text);

/// Text from outside made fit for an error message: short, on one line, without control characters.
std::string printable(std::string_view text);

/// One line taken apart. A value: copies nothing into or out of shared state.
class message {
 public:
  /// `line` without its newline. Nothing if it is not a PMI-1 line; then `why` says so.
  static std::optional<message> parse(std::string_view line, std::string& why);

  /// The value of a field, or nullptr.
  const std::string* find(std::string_view name) const;
  /// The value of a field, or an empty text.
  const std::string& text(std::string_view name) const;
  std::optional<int> number(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Cuts a byte stream into lines, however the bytes arrive.
class line_buffer {
 public:
  void append(const char* data, size_t size);
  /// Takes the next whole line (without newline) out. False: there is none yet.
  bool next(std::string& line);
  /// The line now being received is longer than any line may be.
  bool overlong() const { return bytes_.size() - begin_ > max_line; }
  /// Bytes that wait for the rest of their line.
  std::string_view rest() const { return std::string_view(bytes_).substr(begin_); }

 private:
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace lci::network::pmi1
