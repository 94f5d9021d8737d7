// The command line of lci_iod.
#pragma once

#include <string>
#include <vector>

namespace io_server {

struct server_options {
  std::string root;
  std::vector<std::string> listen;
  std::string auth, key_file, address_file;
  int threads = 2;
  int max_clients = 1024;
  bool walk = false;
  bool lend = true;
  bool verbose = false;
};

/// Parses the command line. Exits after --help and for invalid options.
server_options parse_options(int argc, char** argv);

}  // namespace io_server
