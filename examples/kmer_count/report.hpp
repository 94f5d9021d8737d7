// The report on standard error.
#pragma once

#include <ostream>

#include "exchange.hpp"
#include "input.hpp"
#include "job.hpp"
#include "options.hpp"

namespace kmer_count {

/// Prints what is about to be done.
void print_start(std::ostream& out, const program_options& options, const exchange& net, const input_set& input);

/// Prints rates, time by activity, messages and memory.
void print_result(std::ostream& out, const program_options& options, const exchange& net, const job_result& result,
                  double total_seconds);

}  // namespace kmer_count
