// Executes requests of processes of other hosts, in the thread that makes progress or, for queued requests, in the
// applier's thread. Requests of one process are handled in order, one at a time; those of different processes may be
// handled concurrently.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "lib/layers/armci/applier.hpp"
#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/link.hpp"
#include "lib/layers/armci/memory.hpp"
#include "lib/layers/armci/mutexes.hpp"
#include "lib/layers/armci/wire.hpp"

namespace armci_layer {

class server {
 public:
  server(link& l, memory& m, mutexes& x);
  /// Starts a thread that applies accumulates in close succession.
  void apply_in_background();
  /// A request. It must not throw.
  void receive(int source, const std::byte* bytes, size_t size) noexcept;

 private:
  void handle(int source, const std::byte* bytes, size_t size) noexcept;
  void put(const wire::request& q, wire::reader& in, int source);
  void get(const wire::request& q, wire::reader& in, int source);
  void put_list(const wire::request& q, wire::reader& in, int source);
  void get_list(const wire::request& q, wire::reader& in, int source);
  void rmw(const wire::request& q, wire::reader& in, int source);
  void fence(const wire::request& q, int source);
  /// Stores or adds n bytes.
  static void apply(std::optional<accumulation>& sum, std::byte* to, const std::byte* from, size_t n);
  /// Of a request with a scale; none if that is null.
  std::optional<accumulation> sum_of(const wire::request& q, const std::byte* scale);
  /// Sends bytes of a layout, which begin at `position` of the call's, in as many messages as they need.
  void send_bytes(int source, uint32_t token, const layout& from, size_t begin, size_t size, size_t position);
  /// Requests that wait for one answer, whatever becomes of them.
  static bool has_one_answer(const wire::request& q);
  void refuse_at_last(int source, uint32_t token, size_t bytes, int failure) noexcept;
  void refuse(int source, uint32_t token, size_t bytes, int failure = internal_failure);
  void send_answer(int source, packet&& p);
  bool owns(const layout& l) const;

  link& link_;
  memory& memory_;
  mutexes& mutexes_;
  /// Says of each process whether it has put to what is no memory here. Its next fence reports it.
  std::unique_ptr<std::atomic<bool>[]> faults_;
  std::optional<applier> applier_;
};

}  // namespace armci_layer
