#include "lib/tools/lcirun/ranks_and_hosts.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::launcher {

namespace {

using network::pmi1::parse_int;
using network::pmi1::printable;

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  if (list.empty() || list.back() == ',') words.emplace_back();
  return words;
}

int rank_number(const std::string& word, const std::string& text) {
  const auto number = parse_int(word);
  if (!number || *number < 0 || *number >= most_ranks) {
    refuse("'" + printable(text) + "' does not name ranks: `all`, or numbers from 0 to " +
           std::to_string(most_ranks - 1) + " and ranges, as in 0,2-5");
  }
  return *number;
}

/// A name is a separate argument of ssh: it must not look like an option.
void check_name(const std::string& name, const std::string& word) {
  const bool good = !name.empty() && name.size() <= 255 && name[0] != '-' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == '@' || c == '[' || c == ']' ||
                             c == ':' || c == '%';
                    });
  if (!good) refuse("'" + printable(word) + "' is not a host: NAME or NAME:SLOTS, as in node1:4");
}

}  // namespace

bool rank_set::has(int rank) const { return all || std::binary_search(ranks.begin(), ranks.end(), rank); }

int part_of(const launch_options& options, int rank) {
  int part = 0;
  for (int first = 0; part + 1 < int(options.parts.size()); ++part) {
    first += options.parts[size_t(part)].ranks;
    if (rank < first) break;
  }
  return part;
}

rank_set parse_ranks(const std::string& text) {
  rank_set set;
  if (text == "all") {
    set.all = true;
    return set;
  }
  for (const std::string& word : split(text)) {
    const size_t dash = word.find('-');
    const int first = rank_number(word.substr(0, dash), text);
    const int last = dash == std::string::npos ? first : rank_number(word.substr(dash + 1), text);
    if (last < first) refuse("'" + printable(text) + "': a range begins with its smaller rank");
    for (int rank = first; rank <= last; ++rank) set.ranks.push_back(rank);
  }
  std::sort(set.ranks.begin(), set.ranks.end());
  return set;
}

void add_host(std::vector<host_slots>& hosts, const std::string& word) {
  // An IPv6 address with slots is in brackets; a word with two colons or more and no bracket has no slots.
  const size_t colon = word.rfind(':');
  const bool has_slots =
      colon != std::string::npos && (word.find(':') == colon || (colon > 0 && word[colon - 1] == ']'));
  host_slots host{has_slots ? word.substr(0, colon) : word, 1};
  if (host.name.size() > 2 && host.name.front() == '[' && host.name.back() == ']') {
    host.name = host.name.substr(1, host.name.size() - 2);
  }
  check_name(host.name, word);
  if (has_slots) {
    const auto slots = parse_int(word.substr(colon + 1));
    if (!slots || *slots < 1 || *slots > most_ranks) {
      refuse("'" + printable(word) + "': slots are a number from 1 to " + std::to_string(most_ranks));
    }
    host.slots = *slots;
  }
  for (host_slots& known : hosts) {
    if (known.name != host.name) continue;
    known.slots = std::min(known.slots + host.slots, most_ranks);
    return;
  }
  if (hosts.size() >= most_hosts) {
    refuse("more than " + std::to_string(most_hosts) + " hosts; use a scheduler's launcher");
  }
  hosts.push_back(std::move(host));
}

void add_hosts(std::vector<host_slots>& hosts, const std::string& list) {
  for (const std::string& word : split(list)) add_host(hosts, word);
}

void read_hostfile(std::vector<host_slots>& hosts, const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse("cannot read '" + printable(path) + "'");
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host, slots, more;
    if (!(words >> host)) continue;
    try {
      if (words >> slots) {
        if (slots.rfind("slots=", 0) != 0 || words >> more || host.find(':') != std::string::npos) {
          refuse("'" + printable(line) + "' is not `NAME`, `NAME:SLOTS` or `NAME slots=SLOTS`");
        }
        host += ":" + slots.substr(6);
      }
      add_host(hosts, host);
    } catch (const std::invalid_argument& error) {
      refuse(printable(path) + " line " + std::to_string(number) + ": " + error.what());
    }
  }
  if (hosts.empty()) refuse(printable(path) + " names no host");
}

int total_slots(const std::vector<host_slots>& hosts) {
  long total = 0;
  for (const host_slots& host : hosts) total += host.slots;
  return int(std::min<long>(total, most_ranks));
}

std::vector<host_share> place(const launch_options& options) {
  if (options.hosts.empty()) return {{"", 0, options.ranks}};
  const int total = total_slots(options.hosts);
  const int rounds = (options.ranks + total - 1) / total;
  std::vector<host_share> shares;
  int next = 0;
  for (const host_slots& host : options.hosts) {
    const int count = int(std::min<long>(options.ranks - next, long(host.slots) * rounds));
    if (count > 0) shares.push_back({host.name, next, count});
    next += count;
  }
  return shares;
}

}  // namespace lci::launcher
