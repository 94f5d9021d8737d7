// The keys and values that every kind of bootstrap accepts: programs that run under one launcher must run under all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lci::network {

constexpr size_t max_bootstrap_key = 48;
constexpr size_t max_bootstrap_value = 65536;

/// Throws invalid_argument_error; `operation` is put or get.
void check_bootstrap_key(const char* operation, const std::string& key);
void check_bootstrap_value(const std::string& key, const std::string& value);

/// The message of a get() that did not find the key.
std::string missing_key(const std::string& key, int owner);

/// Ranks for an error message: "3", "3, 5 and 7", or the first few of many.
std::string list_ranks(const std::vector<int>& ranks);

/// "2.5 s".
std::string seconds_text(double seconds);

}  // namespace lci::network
