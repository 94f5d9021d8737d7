#include "lib/layers/na/url.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lci.hpp"

namespace na {
namespace {

constexpr std::array<std::string_view, 6> plugins = {"bmi", "mpi", "ssm", "na", "lci", "ofi"};
constexpr std::array<std::string_view, 8> protocols = {"tcp", "ib", "sm", "shm", "static", "dynamic", "gni", "verbs"};

template <size_t n>
bool has(const std::array<std::string_view, n>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

template <size_t n>
std::string spelled(const std::array<std::string_view, n>& list) {
  std::string text;
  for (const std::string_view word : list) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw lci::invalid_argument_error("\"" + name.substr(0, 100) + "\": " + what);
}

/// Parses "host", "host:port", ":port" or "[v6 address]:port", each optionally followed by '/' and ignored text.
void parse_place(const std::string& whole, std::string place, url& into) {
  place = place.substr(0, place.find('/'));
  size_t colon = place.rfind(':');
  if (!place.empty() && place[0] == '[') {
    const size_t end = place.find(']');
    if (end == std::string::npos) refuse(whole, "the ']' of an IPv6 address is missing");
    into.host = place.substr(1, end - 1);
    if (end + 1 == place.size()) return;
    if (place[end + 1] != ':') refuse(whole, "a ':' and a port must follow the ']'");
    colon = end + 1;
  } else {
    into.host = place.substr(0, colon);
  }
  if (colon == std::string::npos) return;
  const std::string digits = place.substr(colon + 1);
  uint32_t port = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') refuse(whole, "the port is no number");
    port = port * 10 + static_cast<uint32_t>(c - '0');
    if (port > 65535) refuse(whole, "the port is above 65535");
  }
  into.port = static_cast<uint16_t>(port);
}

}  // namespace

std::string url::core_url(const std::string& otherwise) const {
  const std::string& where = host.empty() ? otherwise : host;
  const bool v6 = where.find(':') != std::string::npos;
  return "tcp://" + (v6 ? "[" + where + "]" : where) + ":" + std::to_string(port);
}

url url::parse(const char* text) {
  std::string whole(text);
  while (!whole.empty() &&
         (whole.back() == '\n' || whole.back() == '\r' || whole.back() == ' ' || whole.back() == '\t'))
    whole.pop_back();
  const size_t end = whole.find("://");
  std::string scheme = whole.substr(0, end);
  const std::string place = end == std::string::npos ? "" : whole.substr(end + 3);
  if (end == std::string::npos && scheme.find(':') != std::string::npos) refuse(whole, "\"://\" is missing");

  url result;
  result.text = whole;
  if (scheme == "self" || scheme == "na+self") {
    result.self = true;
    return result;
  }
  const size_t plus = scheme.find('+');
  if (plus != std::string::npos) {
    result.plugin = scheme.substr(0, plus);
    result.protocol = scheme.substr(plus + 1);
  } else if (has(plugins, scheme)) {
    result.plugin = scheme;
  } else {
    result.protocol = scheme;
  }
  if ((plus != std::string::npos || !result.plugin.empty()) && !has(plugins, result.plugin))
    refuse(whole, "the plugin is none of " + spelled(plugins));
  if (plus != std::string::npos || result.plugin.empty())
    if (!has(protocols, result.protocol)) refuse(whole, "the protocol is none of " + spelled(protocols) + ", self");
  parse_place(whole, place, result);
  return result;
}

}  // namespace na
