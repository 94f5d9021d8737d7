// What a proxy has to know before it starts: it comes on its standard input, through ssh, which
// keeps it secret. Not on the command line, which all users of a host can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tools/lcirun/frame.hpp"
#include "lib/tools/lcirun/launch_options.hpp"
#include "lib/tools/lcirun/siphash.hpp"

namespace lci::launcher {

struct proxy_setup {
  int host = 0;  // its number
  secret_key key{};
  int port = 0;
  std::vector<std::string> addresses;  // of lcirun, to be tried in turn
  std::string job_id;
  host_share share;
  launch_options options;  // as far as it concerns the ranks
  std::vector<std::string> environment;
};

/// lcirun's environment without what belongs to its host and login there.
std::vector<std::string> environment_for_others();

frame_writer write_setup(const proxy_setup& setup);
/// Nothing if the fields are not a setup of this version of lcirun; then `why` says so.
std::optional<proxy_setup> read_setup(std::string_view fields, std::string& why);

}  // namespace lci::launcher
