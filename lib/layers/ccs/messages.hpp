// Sends and handles active messages of the program.
#pragma once

#include <ccs.h>

#include <cstdarg>

#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

/// Reads the arguments of a variadic function. They are integers and pointers, each of which occupies a word.
void take_arguments(CCS_handler_arg_t* args, unsigned n, va_list list);

// These print a line and return false for misuse.
bool are_possible(const char* function, unsigned handler_id, unsigned num_args);
bool is_context(const process& p, const char* function, CCS_context_t context);

/// Packs and sends a message. Its arguments are in `list`.
int send_message(process& p, const char* function, wire::address to, int node, void* buf, unsigned count,
                 CCS_datadesc_t datadesc, va_list list);

// large.cpp

/// Offers a large message, which has arrived in its turn, to its header handler.
void handle_large(process& p, int source, const wire::address& to, const std::byte* data, size_t size) noexcept;
/// Offers those again that were delayed.
void call_delayed(process& p) noexcept;

}  // namespace ccs
