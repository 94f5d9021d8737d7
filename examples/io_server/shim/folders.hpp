// The working folder that an executed program inherits.
#pragma once

namespace io_shim {

/// Sets the remote working folder from an inherited descriptor.
void inherit_cwd(int fd);

}  // namespace io_shim
