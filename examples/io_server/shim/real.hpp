// The functions behind those that the library replaces.
#pragma once

#include <dlfcn.h>

// Before main() and in forked children, too: nothing here needs to be initialised.
#define IO_REAL(name)                                                                          \
  ([] {                                                                                        \
    static const auto function = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return function;                                                                           \
  }())

// What programs see.
#define IO_EXPORT extern "C" __attribute__((visibility("default")))
// A second name of a function, of the same type.
#define IO_ALIAS(name, of) IO_EXPORT decltype(of) name __attribute__((alias(#of)))
