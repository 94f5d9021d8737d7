// C++20 conveniences over the same functors: owners of resources, typed buffers and values, coroutines.
// Header-only, and not included by lci.hpp, so that other programs pay nothing, not even compile time. See
// docs/guide/cpp20.md.
#pragma once

#if __cplusplus < 202002L
#error "lci/cpp20.hpp needs C++20: compile with -std=c++20, or include lci.hpp alone"
#endif

#include "lci.hpp"
#include "lci/cpp20/scheduler.hpp"
#include "lci/cpp20/task.hpp"
#include "lci/cpp20/typed.hpp"
#include "lci/cpp20/unique_handle.hpp"
#include "lci/cpp20/when_all.hpp"
