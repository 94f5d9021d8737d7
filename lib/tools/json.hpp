// Prints strings in JSON.
#pragma once

#include <string>
#include <string_view>

namespace lci::tools {

/// The text as a JSON string, with its quotes.
std::string json_text(std::string_view text);

}  // namespace lci::tools
