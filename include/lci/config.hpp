// Version and the few macros that public headers need.
#pragma once

#define LCI_VERSION_MAJOR 2
#define LCI_VERSION_MINOR 1
#define LCI_VERSION_PATCH 0
#define LCI_VERSION_STRING "2.1.0"
#define LCI_VERSION_FULL LCI_VERSION_STRING

// Built-in values of attributes, and what memory that threads do not share is aligned to, as published programs
// look for them.
#define LCI_PACKET_SIZE_DEFAULT 8192
#define LCI_BACKEND_MAX_POLLS 32
#define LCI_CACHE_LINE 64

// Everything is built with hidden visibility; what clients may call says so.
#define LCI_API __attribute__((visibility("default")))

// For functors that do their work themselves: a program with many calls of one would otherwise share
// a copy out of line, where nothing is known of the arguments.
#define LCI_ALWAYS_INLINE __attribute__((always_inline))

// A plain attribute: g++ 12 only warns about a forgotten `()` of a functor when it stands on the
// constructor, and clang in C++17 mode rejects the form with a reason.
#define LCI_NODISCARD [[nodiscard]]
