// The message that a rank writes to stderr before it ends its job.
#pragma once

#include <string>

namespace lci::network {

/// Writes to stderr that rank `rank` ends the job. Returns once the reader (usually a launcher) has taken the message,
/// or after 200 ms: a launcher that is told to end a job at once may discard what it has not read yet.
void announce_abort(int rank, int code, const std::string& message);

}  // namespace lci::network
