// Prints strings in JSON.
#pragma once

#include <string>
#include <string_view>

namespace lci::tools {

/// Returns the text as a JSON string, with its quotes. JSON is UTF-8, so each byte that is not part of a UTF-8
/// character becomes U+FFFD.
std::string json_text(std::string_view text);

}  // namespace lci::tools
