// The generic post: direction, remote buffer and remote completion choose the operation (paper, Table 1).
#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"

namespace lci::core {

namespace {

/// Copies the arguments that all operations share.
template <class Args>
Args common(const post_comm_args& a) {
  Args b;
  b.rank = a.rank;
  b.local_buffer = a.local_buffer;
  b.size = a.size;
  b.local_comp = a.local_comp;
  b.runtime = a.runtime;
  b.device = a.device;
  b.endpoint = a.endpoint;
  b.packet_pool = a.packet_pool;
  b.comp_semantic = a.comp_semantic;
  b.mr = a.mr;
  b.tag = a.tag;
  b.user_context = a.user_context;
  b.operation = a.operation;
  b.deadline = a.deadline;
  b.allow_done = a.allow_done;
  b.allow_posted = a.allow_posted;
  b.allow_retry = a.allow_retry;
  if constexpr (requires { b.layout; }) b.layout = a.layout;
  return b;
}

template <class Args>
Args matched(const post_comm_args& a) {
  Args b = common<Args>(a);
  b.matching_engine = a.matching_engine;
  b.matching_policy = a.matching_policy;
  if constexpr (requires { b.allocate; }) b.allocate = a.allocate;
  return b;
}

template <class Args>
Args remote(const post_comm_args& a) {
  Args b = common<Args>(a);
  b.remote_disp = a.remote_disp;
  b.rmr = a.rmr;
  b.remote_comp = a.remote_comp;
  b.remote_layout = a.remote_layout;
  return b;
}

}  // namespace

status_t post_comm(post_comm_args& a) {
  const bool has_buffer =
      !a.rmr.is_empty() || (a.remote_layout != nullptr && a.remote_layout->remote_segments() != nullptr);
  const bool has_comp = a.remote_comp != 0;
  if (!has_buffer && a.remote_disp != 0)
    throw_invalid("post_comm", "remote_disp", std::to_string(a.remote_disp), "0 without an rmr",
                  "a remote buffer needs .rmr()");
  if (a.direction != direction_t::OUT && a.direction != direction_t::IN)
    throw_invalid("post_comm", "direction", std::to_string(static_cast<int>(a.direction)),
                  "direction_t::OUT or direction_t::IN");
  if (!has_buffer && a.remote_layout != nullptr)
    throw_invalid("post_comm", "remote_layout", "given", "null without an rmr", "a remote buffer needs .rmr()");
  if (!a.stream.is_empty() && (a.direction != direction_t::OUT || has_buffer || !has_comp))
    throw_invalid("post_comm", "stream", "given", "empty except for an active message",
                  "only active messages are ordered");
  if (a.ordered && (a.direction != direction_t::OUT || !has_buffer))
    throw_invalid("post_comm", "ordered", "true", "false except for a put", "a stream orders active messages");
  if (a.direction == direction_t::OUT) {
    if (has_buffer) {
      auto b = remote<post_put_args>(a);
      b.ordered = a.ordered;
      return core::post_put(b);
    }
    if (has_comp) {
      auto b = common<post_am_args>(a);
      b.remote_comp = a.remote_comp;
      b.stream = a.stream;
      return core::post_am(b);
    }
    auto b = matched<post_send_args>(a);
    return core::post_send(b);
  }
  if (has_buffer) {
    auto b = remote<post_get_args>(a);
    return core::post_get(b);
  }
  if (has_comp)
    throw_invalid("post_comm", "remote_comp", std::to_string(a.remote_comp), "0 for direction IN without an rmr",
                  "a receive can't signal its sender (paper, Table 1); a get with signal needs .rmr()");
  auto b = matched<post_recv_args>(a);
  return core::post_recv(b);
}

}  // namespace lci::core
