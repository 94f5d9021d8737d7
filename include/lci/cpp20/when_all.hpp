// Awaiting several operations at once.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <utility>

#include "lci/cpp20/pending.hpp"

namespace lci {

namespace detail {

template <posted_operation... Op>
class when_all_awaiter {
 public:
  when_all_awaiter(operation_queue& queue, std::tuple<Op...>&& ops)
      : when_all_awaiter(queue, std::move(ops), std::index_sequence_for<Op...>()) {}

  bool await_ready() {
    std::apply([&](auto&... each) { (each.begin(coroutine_), ...); }, awaiters_);
    return coroutine_.left == 0;
  }
  void await_suspend(std::coroutine_handle<> handle) { coroutine_.handle = handle; }
  std::array<status_t, sizeof...(Op)> await_resume() {
    return std::apply([](auto&... each) { return std::array{each.await_resume()...}; }, awaiters_);
  }

 private:
  template <size_t... I>
  when_all_awaiter(operation_queue& queue, std::tuple<Op...>&& ops, std::index_sequence<I...>)
      : awaiters_(operation_awaiter<Op>(queue, std::move(std::get<I>(ops)))...) {}

  waiting_coroutine coroutine_;
  std::tuple<operation_awaiter<Op>...> awaiters_;
};

template <posted_operation... Op>
struct several_operations {
  std::tuple<Op...> ops;
  auto on(operation_queue& queue) && { return when_all_awaiter<Op...>(queue, std::move(ops)); }
};

}  // namespace detail

/// Posts all operations and waits for all: `auto [in, out] = co_await when_all(post_recv_x(...),
/// post_send_x(...));` returns their statuses. If some fail, throws the exception of the first of them, in the order of
/// arguments, when all have ended.
template <posted_operation... Op>
requires(sizeof...(Op) > 0) [[nodiscard]] auto when_all(Op... ops) {
  return detail::several_operations<Op...>{{std::move(ops)...}};
}

}  // namespace lci
