// What a rank says before it ends its job.
#pragma once

#include <string>

namespace lci::network {

/// Says on standard error that rank `rank` ends the job. Returns when who reads that (a launcher, mostly) has taken
/// it, or after a fifth of a second: launchers that are told to end a job at once may not look any more.
void announce_abort(int rank, int code, const std::string& message);

}  // namespace lci::network
