// Parses ranks and hosts of the command line, and assigns ranks to hosts.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// Guards against a typing error in N.
constexpr int most_ranks = 16384;
constexpr size_t most_hosts = 1024;

/// "all", or numbers and ranges: "0,2-5". Throws std::invalid_argument with an explanation.
rank_set parse_ranks(const std::string& text);

/// Adds "name" or "name:slots"; adds the slots if the host is known already. Throws as parse_ranks().
void add_host(std::vector<host_slots>& hosts, const std::string& word);
/// Adds a list such as "h1,h2:4".
void add_hosts(std::vector<host_slots>& hosts, const std::string& list);
/// Reads one host per line: `name`, `name:slots` or `name slots=4`; `#` starts a comment.
void read_hostfile(std::vector<host_slots>& hosts, const std::string& path);

int total_slots(const std::vector<host_slots>& hosts);

/// Assigns ranks by slots, in the order of hosts. With more ranks than slots, each host gets a multiple of its slots.
/// Hosts without ranks are left out. Without hosts, returns one share for this machine.
std::vector<host_share> place(const launch_options& options);

}  // namespace lci::launcher
