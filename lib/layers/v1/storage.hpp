// Before each variable with the state of a rank. Programs have one rank in a process, and its threads share what it has.
// A test build defines V1_STORAGE as __thread: its ranks are threads, over a simulated network.
#pragma once

#ifndef V1_STORAGE
#define V1_STORAGE
#endif
