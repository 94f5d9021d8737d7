// What the fake libibverbs can do, and what it has seen.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Set before a net context is opened, read while nothing communicates.
struct fake_card {
  // What the card can do.
  bool thread_domains = true;
  bool paging = true;           // on demand
  bool implicit_paging = true;  // of the whole address space
  bool advice = true;
  // What fails: this call, "poll_cq"; so many times from the n-th on, by this errno. "completion": what becomes of a
  // request that is carried out; `error` is an ibv_wc_status then.
  std::string failing;
  int failing_from = 1, failing_times = 1;
  int error = 0;
  bool completions_of_receives = false;  // "completion" counts those, else those of what was sent
  std::map<std::string, int> calls;  // made so far, by name
  int failed = 0;                    // of these
  // Alive.
  int contexts = 0, domains = 0, threads = 0, pairs = 0, queues = 0, channels = 0, receive_queues = 0;
  int pinned = 0, on_demand = 0, whole = 0;  // registrations: of each kind
  // Made so far.
  int pinned_made = 0, on_demand_made = 0;
  std::vector<const void*> threads_of_pairs;  // by pair: its thread domain, or null
  std::vector<int> advices;                   // IBV_ADVISE_MR_ADVICE_*
  size_t messages = 0, writes = 0, reads = 0;  // carried out
  int mistakes = 0;  // requests that a real card would have failed
};

/// Of the library that is loaded as libibverbs.so.1.
extern "C" fake_card* fake_verbs_card();
