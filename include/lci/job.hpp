// The job that this process was started in: rank, size, and the key-value store through which ranks find each other
// before there is a network. For libraries beside the core, such as LCT; programs use runtimes. It is the one
// session that the process has with its launcher, shared with all runtimes.
#pragma once

#include <string>

#include "lci/config.hpp"

namespace lci::detail {

struct job_place {
  int rank, size;
};

/// Joins the job, as the default attributes and the environment say, if no runtime has done so before. Throws
/// bootstrap_error or option_error. This function and the others are thread-safe.
LCI_API job_place join_job();

/// Offers `value` under `key` to the other ranks, who see it after a fence. A key is put once, by one rank, and has up
/// to 48 letters, digits or _-.:/ ; runtimes use keys that begin with "lci-", LCT "lct-". Throws invalid_argument_error or bootstrap_error.
LCI_API void put_in_job(const std::string& key, const std::string& value);

/// What rank `owner` has put. Throws bootstrap_error if it has not put the key before the last fence.
LCI_API std::string get_from_job(const std::string& key, int owner);

/// Barrier over all ranks. As runtimes make such fences while they and their devices are allocated, all ranks must
/// call in the same order what is collective. Throws bootstrap_error when a rank or the launcher goes away.
LCI_API void fence_of_job();

}  // namespace lci::detail
