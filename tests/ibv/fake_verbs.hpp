// The configuration of the fake libibverbs, and what it has counted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Set before a net context is allocated; read while no communication is in progress.
struct fake_card {
  // Capabilities of the card.
  bool thread_domains = true;
  bool paging = true;           // on-demand paging
  bool implicit_paging = true;  // of the whole address space
  bool advice = true;
  // The fault: the name of a call such as "poll_cq", which fails `failing_times` times from call `failing_from` on with
  // the errno `error`. With "completion" the completion of a request fails, and `error` is an ibv_wc_status.
  std::string failing;
  int failing_from = 1, failing_times = 1;
  int error = 0;
  bool completions_of_receives = false;  // "completion" counts those of receives, else those of sends
  std::map<std::string, int> calls;      // number of calls by name
  int failed = 0;                        // number of those that failed
  // Objects that are alive.
  int contexts = 0, domains = 0, threads = 0, pairs = 0, queues = 0, channels = 0, receive_queues = 0;
  int pinned = 0, on_demand = 0, whole = 0;  // registrations by kind
  // Totals.
  int pinned_made = 0, on_demand_made = 0;
  std::vector<const void*> threads_of_pairs;   // by pair: its thread domain, or null
  std::vector<int> advices;                    // IBV_ADVISE_MR_ADVICE_*
  size_t messages = 0, writes = 0, reads = 0;  // executed requests
  int mistakes = 0;                            // requests that a real card would refuse
};

/// The card of the library that is loaded as libibverbs.so.1.
extern "C" fake_card* fake_verbs_card();
