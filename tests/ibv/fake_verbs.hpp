// What the fake libibverbs can do, and what it has seen.
#pragma once

#include <cstddef>
#include <vector>

/// Set before a net context is opened, read while nothing communicates.
struct fake_card {
  // What the card can do.
  bool thread_domains = true;
  bool paging = true;           // on demand
  bool implicit_paging = true;  // of the whole address space
  bool advice = true;
  // Alive.
  int contexts = 0, domains = 0, threads = 0, pairs = 0, queues = 0;
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
