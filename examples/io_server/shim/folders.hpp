// The working folder of a program that was executed.
#pragma once

namespace io_shim {

/// The descriptor stands for it.
void inherit_cwd(int fd);

}  // namespace io_shim
