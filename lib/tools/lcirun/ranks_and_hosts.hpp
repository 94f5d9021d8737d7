// Words of the command line that name ranks and hosts, and which ranks run where.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// A typing error in N shall not bring the machine down.
constexpr int most_ranks = 16384;
constexpr size_t most_hosts = 1024;

/// "all", or numbers and ranges: "0,2-5". Throws std::invalid_argument with an explanation.
rank_set parse_ranks(const std::string& text);

/// Adds "name" or "name:slots", to one of the same name if there is one. Throws as above.
void add_host(std::vector<host_slots>& hosts, const std::string& word);
/// "h1,h2:4".
void add_hosts(std::vector<host_slots>& hosts, const std::string& list);
/// A host a line, `name`, `name:slots` or `name slots=4`; `#` starts a comment.
void read_hostfile(std::vector<host_slots>& hosts, const std::string& path);

int total_slots(const std::vector<host_slots>& hosts);

/// Ranks by slots, in the order of hosts; with more ranks than slots each host gets a multiple of
/// its slots. Hosts that get none are left out. Without hosts, one share of this machine.
std::vector<host_share> place(const launch_options& options);

}  // namespace lci::launcher
