// V1_STORAGE stands before each global variable that belongs to a rank. It is empty in the library: a process is one
// rank. Tests over the simulated network define it as __thread, since there each rank is a thread of one process.
#pragma once

#ifndef V1_STORAGE
#define V1_STORAGE
#endif
