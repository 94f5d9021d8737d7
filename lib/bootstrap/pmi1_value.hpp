// Any bytes as PMI-1 values: base64 in pieces, since a value holds only text without blanks and is
// at most 1023 characters long. The first piece starts with `<pieces>.<bytes>.`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lci::network::pmi1 {

/// Larger values are a misuse of the bootstrap: it is for addresses, not for data.
constexpr size_t max_value_bytes = 64 * 1024;
/// Shorter pieces would not hold the head.
constexpr size_t min_piece_length = 32;
/// What a value of max_value_bytes needs at the shortest pieces.
constexpr size_t max_pieces = max_value_bytes * 4 / 3 / min_piece_length + 2;

/// Needs bytes.size() <= max_value_bytes and piece_length >= min_piece_length.
std::vector<std::string> to_pieces(const std::string& bytes, size_t piece_length);

/// How many pieces a value has, by its first one; nothing if that is garbled.
std::optional<size_t> piece_count(const std::string& first);

/// The bytes again; nothing if the pieces do not fit together.
std::optional<std::string> from_pieces(const std::vector<std::string>& pieces);

}  // namespace lci::network::pmi1
