// Binary values in PMI-1: base64 in pieces, since a PMI-1 value is text without blanks of at most 1023 characters. The
// first piece starts with `<pieces>.<bytes>.`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lci::network::pmi1 {

/// The bootstrap exchanges addresses, not data: larger values are rejected.
constexpr size_t max_value_bytes = size_t{64} * 1024;
/// A shorter piece would not hold the header of the first one.
constexpr size_t min_piece_length = 32;
/// The pieces of a value of max_value_bytes at min_piece_length.
constexpr size_t max_pieces = max_value_bytes * 4 / 3 / min_piece_length + 2;

/// Needs bytes.size() <= max_value_bytes and piece_length >= min_piece_length.
std::vector<std::string> to_pieces(const std::string& bytes, size_t piece_length);

/// The number of pieces of a value, read from its first one; nothing if that is malformed.
std::optional<size_t> piece_count(const std::string& first);

/// Returns the bytes; nothing if the pieces do not belong together.
std::optional<std::string> from_pieces(const std::vector<std::string>& pieces);

}  // namespace lci::network::pmi1
