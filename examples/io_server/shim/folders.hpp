// The working folder that an executed program inherits.
#pragma once

#include <string>

namespace io_shim {

/// Sets the remote working folder from an inherited descriptor.
void inherit_cwd(int fd);
/// The descriptor by which an executed program inherits the remote working folder; -1: there is none.
int current_cwd_descriptor();
/// The path of the remote working folder, which may have been moved. Returns an empty string if it has been removed.
/// Without an answer of the server, the path is the one that the folder had.
std::string present_cwd();

}  // namespace io_shim
