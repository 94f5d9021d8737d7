// The parameters of a proxy, the process that lcirun starts by ssh on each remote host. lcirun sends them to the
// proxy's standard input, where they stay secret; all users of a host could read them on a command line.
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
  int host = 0;  // index of the host
  secret_key key{};
  int port = 0;
  std::vector<std::string> addresses;  // of lcirun, tried in this order
  std::string job_id;
  host_share share;
  launch_options options;  // only those that concern ranks
  std::vector<std::string> environment;
};

/// lcirun's environment without the variables that belong to its host or login session.
std::vector<std::string> environment_for_others();

frame_writer write_setup(const proxy_setup& setup);
/// Returns nothing, and the reason in `why`, if the fields are no setup of this version of lcirun.
std::optional<proxy_setup> read_setup(std::string_view fields, std::string& why);

}  // namespace lci::launcher
