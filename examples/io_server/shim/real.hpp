// The C library's functions that this library replaces.
#pragma once

#include <dlfcn.h>

// Finds the function at its first use, so it also works before main() and in forked children.
#define IO_REAL(name)                                                                          \
  ([] {                                                                                        \
    static const auto function = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return function;                                                                           \
  }())

// Marks the functions that replace those of the C library.
#define IO_EXPORT extern "C" __attribute__((visibility("default")))
// A second name of a function, of the same type.
#define IO_ALIAS(name, of) IO_EXPORT decltype(of) name __attribute__((alias(#of)))
