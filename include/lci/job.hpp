// The job of this process: rank, size, and the key-value store through which ranks exchange addresses before there is
// a network. For libraries beside the core, such as LCT; programs use runtimes. All runtimes share this session, the
// only one of the process with its launcher.
#pragma once

#include <string>

#include "lci/config.hpp"

namespace lci::detail {

struct job_place {
  int rank, size;
};

/// Joins the job given by the default attributes and the environment, unless a runtime has joined it before. Throws
/// bootstrap_error or option_error. All functions here are thread-safe.
LCI_API job_place join_job();

/// Stores `value` under `key`; other ranks see it after a fence. A key is put once, by one rank, and has up to 48
/// letters, digits or _-.:/ ; runtimes use keys that begin with "lci-", LCT "lct-". Throws invalid_argument_error or
/// bootstrap_error.
LCI_API void put_in_job(const std::string& key, const std::string& value);

/// The value that rank `owner` has put. Throws bootstrap_error if it had not put the key before the last fence.
LCI_API std::string get_from_job(const std::string& key, int owner);

/// Barrier over all ranks. Allocating runtimes and devices uses such fences, so all ranks must make collective calls in
/// the same order. Throws bootstrap_error if a rank or the launcher fails.
LCI_API void fence_of_job();

}  // namespace lci::detail
