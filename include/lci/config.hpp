// Version and the few macros that public headers need.
#pragma once

#define LCI_VERSION_MAJOR 2
#define LCI_VERSION_MINOR 1
#define LCI_VERSION_PATCH 0
#define LCI_VERSION_STRING "2.1.0"
#define LCI_VERSION_FULL LCI_VERSION_STRING

// Built-in values of attributes, and the alignment that keeps the data of threads apart (bytes). Published programs
// use these macros.
#define LCI_PACKET_SIZE_DEFAULT 8256  // a message of 8 KiB and its header
#define LCI_BACKEND_MAX_POLLS 32
#define LCI_CACHE_LINE 64

// Exports a symbol: the library is built with hidden visibility.
#define LCI_API __attribute__((visibility("default")))

// For functors with inline work: the compiler would otherwise share one out-of-line copy among many calls, without
// knowledge of the arguments.
#define LCI_ALWAYS_INLINE __attribute__((always_inline))

// Without a reason: g++ 12 warns about a forgotten `()` of a functor only if the attribute is on the
// constructor, and clang in C++17 mode rejects the form with a reason.
#define LCI_NODISCARD [[nodiscard]]
