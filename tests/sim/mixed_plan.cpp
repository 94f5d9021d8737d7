// The operations of a mixed job and their arguments.
#include <algorithm>

#include "tests/sim/mixed_job.hpp"

namespace sim_test {

using lci::matching_policy_t;

void mixed_job::plan() {
  // If the user held all packets of a small pool, none would be left for the network's receive buffers.
  user_packets_ = options_.npackets >= options_.devices * options_.max_recvs + 64;
  for (int i = 0; i < options_.operations; ++i) {
    const uint64_t dice = random_.up_to(9);
    if (dice < 3)
      add_message();
    else if (dice < 7)
      add_matched_pair();
    else
      add_memory_access();
  }
}

// Sizes around every threshold, and some in between.
size_t mixed_job::some_size() {
  const size_t chunk = std::min({options_.rdv_chunk, options_.max_msg_size, size_t{8192}});
  const size_t around[] = {1, inject_size_, eager_size_, chunk, 2 * chunk, eager_size_ / 2};
  if (random_.percent(15)) return 0;
  if (random_.percent(20)) return 1 + random_.up_to(3 * chunk);
  const size_t base = around[random_.up_to(5)];
  return base - std::min<size_t>(base, 1) + random_.up_to(2);
}

mixed_job::operation& mixed_job::add(kind what, int rank, int peer, size_t size) {
  operation& op = operations_.emplace_back();
  op.what = what;
  op.id = operations_.size() - 1;
  op.rank = rank;
  op.peer = peer;
  op.device = static_cast<int>(random_.up_to(options_.devices - 1));
  op.size = op.capacity = size;
  op.tag = op.id;
  op.how = static_cast<completion>(random_.up_to(4));
  op.allow_done = !random_.percent(20);
  op.allow_retry = !random_.percent(20);
  return op;
}

// The semantic of a message. A blocking post must not wait for another rank's answer, since one thread runs all ranks.
lci::comp_semantic_t mixed_job::some_semantic(const operation& op) {
  using lci::comp_semantic_t;
  if (op.how == completion::none || random_.percent(60)) return comp_semantic_t::memory;
  return random_.percent(50) ? comp_semantic_t::network : comp_semantic_t::remote;
}

void mixed_job::add_message() {
  const int from = static_cast<int>(random_.up_to(options_.ranks - 1));
  const int to = static_cast<int>(random_.up_to(options_.ranks - 1));
  operation& op = add(kind::am, from, to, some_size());
  op.expects_arrival = true;
  op.target_comp = static_cast<int>(random_.up_to(3));
  // Messages that are delivered in packets must fit into one.
  if (op.target_comp == 1 && op.size > eager_size_) op.target_comp = 0;
  op.user_packet = user_packets_ && random_.percent(10) && op.size <= eager_size_;
  if (op.size <= eager_size_ && random_.percent(15)) op.how = completion::none;
  op.semantic = some_semantic(op);
  // Streams use completion objects that report arrivals at once, since the others are polled later.
  if (random_.percent(40)) {
    op.stream = static_cast<int>(random_.up_to(1));
    op.target_comp = 2 + static_cast<int>(random_.up_to(1));
  }
  if (random_.percent(15)) {
    op.what = kind::echo;
    op.target_comp = 4;
    op.size = op.capacity = std::max<size_t>(op.size, 1);
    // The answer is posted by the target's completion object.
    operation& answer = add(kind::am, to, from, some_size() % (eager_size_ + 1));
    answer.device = operations_[operations_.size() - 2].device;
    answer.expects_arrival = true;
    answer.target_comp = 3;
    answer.allow_retry = false;
    answer.how = completion::cq;
    answer.is_answer = true;
  }
}

void mixed_job::add_matched_pair() {
  const int from = static_cast<int>(random_.up_to(options_.ranks - 1));
  const int to = static_cast<int>(random_.up_to(options_.ranks - 1));
  const size_t size = some_size();
  // With a victim, a receive must not match a message of another pair.
  const auto policy = static_cast<matching_policy_t>(options_.victim < 0 ? random_.up_to(3) : 1 + random_.up_to(2));
  const bool send_first = random_.percent(50);
  for (bool sends : {send_first, !send_first}) {
    operation& op = sends ? add(kind::send, from, to, size) : add(kind::recv, to, from, size);
    op.policy = policy;
    if (sends && size <= eager_size_ && random_.percent(15)) op.how = completion::none;
    if (sends) op.user_packet = user_packets_ && random_.percent(10) && size <= eager_size_;
    if (sends) op.semantic = some_semantic(op);
  }
  operation& first = operations_[operations_.size() - 2];
  operation& second = operations_.back();
  operation& send = send_first ? first : second;
  operation& recv = send_first ? second : first;
  // If the policy compares tags, the tag identifies the send. Otherwise any message with the policy may match, so the
  // buffer is large enough for all of them; the tag shows which one it was.
  send.tag = send.id;
  recv.tag = send.id;
  const bool by_tag = (static_cast<int>(policy) & 2) != 0;
  if (!by_tag)
    recv.capacity = 4 * 8192;
  else if (size > 0 && random_.percent(15))
    recv.capacity = random_.up_to(size - 1);
}

void mixed_job::add_memory_access() {
  const int from = static_cast<int>(random_.up_to(options_.ranks - 1));
  const int to = static_cast<int>(random_.up_to(options_.ranks - 1));
  const kind kinds[] = {kind::put, kind::put_signal, kind::get, kind::get_signal};
  operation& op = add(kinds[random_.up_to(3)], from, to, some_size());
  if (op.what == kind::get && random_.percent(30)) {
    op.atomic = true;
    op.size = op.capacity = sizeof(uint64_t);
    ranks_[to].window_used = (ranks_[to].window_used + 7) / 8 * 8;
  }
  op.slice = ranks_[to].window_used;
  ranks_[to].window_used += op.size;
  op.expects_arrival = op.what == kind::put_signal || op.what == kind::get_signal;
  op.target_comp = static_cast<int>(random_.up_to(1)) * 3;
}

}  // namespace sim_test
