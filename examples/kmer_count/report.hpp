// What the program says about itself on standard error.
#pragma once

#include <ostream>

#include "exchange.hpp"
#include "input.hpp"
#include "job.hpp"
#include "options.hpp"

namespace kmer_count {

/// What is going to be done.
void print_start(std::ostream& out, const program_options& options, const exchange& net,
                 const input_set& input);

/// Rates, where the time went, messages, memory.
void print_result(std::ostream& out, const program_options& options, const exchange& net,
                  const job_result& result, double total_seconds);

}  // namespace kmer_count
