// The working folder that an executed program inherits.
#pragma once

namespace io_shim {

/// Sets the remote working folder from an inherited descriptor.
void inherit_cwd(int fd);
/// The descriptor by which an executed program inherits the remote working folder; -1: there is none.
int current_cwd_descriptor();

}  // namespace io_shim
