// LCI, the Lightweight Communication Interface: include this, and link with `-llci`.
//
//   lci::g_runtime_init();
//   lci::device_t device = lci::get_default_device();  // or one of its own for each thread
//   int peer = 1 - lci::get_rank_me();
//   lci::comp_t done = lci::alloc_sync();
//   lci::status_t status;
//   do {
//     status = lci::post_send_x(peer, data, size, /*tag=*/7, done).device(device)();
//     lci::progress();
//   } while (status.is_retry());
//   if (status.is_posted()) lci::sync_wait(done, &status);
//   lci::free_comp(&done);
//   lci::g_runtime_fina();
//
// Each operation `f` also exists as a functor `f_x`, whose setters give optional arguments; the
// last `()` makes the call. docs/reference.md describes them all. Headers are C++17; what C++20 adds is in
// lci/cpp20.hpp.
#pragma once

#ifndef __cplusplus
#error "lci.hpp needs C++17: compile this file as C++; lci.h is the C interface, that of LCI v1.7"
#elif __cplusplus < 201703L
#error "lci.hpp needs C++17: compile with -std=c++17"
#endif

#include "lci/attributes.hpp"
#include "lci/completion.hpp"
#include "lci/config.hpp"
#include "lci/counters.hpp"
#include "lci/errors.hpp"
#include "lci/graph.hpp"
#include "lci/handles.hpp"
#include "lci/layout.hpp"
#include "lci/operations.hpp"
#include "lci/options.hpp"
#include "lci/reg_cache_stats.hpp"
#include "lci/types.hpp"
