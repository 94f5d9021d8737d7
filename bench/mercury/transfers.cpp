// Measures bulk transfers of HG between two processes: bandwidth of pulls of contiguous and of segmented memory, and
// the time to pull and sum up memory in pieces, with and without overlap of transfers and computation.
//
//   mercury_transfers [URL]
//
// URL is the argument of NA_Initialize() in both processes, "na+sm" by default. Prints one line of JSON for each
// figure.
#include <mercury_bulk.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/mercury/two_processes.hpp"

namespace {

using bench::call;
using bench::check;

MERCURY_GEN_PROC(pull_in_t, ((hg_bulk_t)(memory))((hg_uint32_t)(times))((hg_uint32_t)(pieces)))
MERCURY_GEN_PROC(pull_out_t, ((hg_uint64_t)(ns))((hg_uint64_t)(sum)))

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

uint64_t sum_of(const uint64_t* p, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += p[i] ^ (p[i] >> 7);
  return sum;
}

/// Pulls in pieces that are all outstanding at once; sums up each piece when it has arrived if `sums`. Returns the
/// median time.
hg_return_t pull(hg_handle_t handle, bool sums) {
  pull_in_t in;
  check(HG_Handler_get_input(handle, &in) == HG_SUCCESS, "HG_Handler_get_input()");
  const size_t size = HG_Bulk_handle_get_size(in.memory), piece = size / in.pieces;
  static std::vector<char> target;
  target.resize(size);
  void* at = target.data();
  hg_bulk_t local = HG_BULK_NULL;
  check(HG_Bulk_handle_create(1, &at, &size, HG_BULK_READWRITE, &local) == HG_SUCCESS, "HG_Bulk_handle_create()");
  std::vector<uint64_t> times;
  std::vector<hg_bulk_request_t> requests(in.pieces);
  pull_out_t out{0, 0};
  for (hg_uint32_t t = 0; t < in.times; ++t) {
    const uint64_t begin = now_ns();
    out.sum = 0;
    for (size_t i = 0; i < in.pieces; ++i)
      check(HG_Bulk_transfer(HG_BULK_PULL, HG_Handler_get_addr(handle), in.memory, i * piece, local, i * piece, piece,
                             &requests[i]) == HG_SUCCESS,
            "HG_Bulk_transfer()");
    for (size_t i = 0; i < in.pieces; ++i) {
      check(HG_Bulk_wait(requests[i], HG_MAX_IDLE_TIME, HG_STATUS_IGNORE) == HG_SUCCESS, "HG_Bulk_wait()");
      if (sums) out.sum += sum_of(reinterpret_cast<uint64_t*>(target.data() + i * piece), piece / sizeof(uint64_t));
    }
    times.push_back(now_ns() - begin);
  }
  std::nth_element(times.begin(), times.begin() + in.times / 2, times.end());
  out.ns = times[in.times / 2];
  HG_Bulk_handle_free(local);
  HG_Handler_free_input(handle, &in);
  HG_Handler_start_output(handle, &out);
  return HG_Handler_free(handle);
}

hg_return_t run_pull(hg_handle_t handle) { return pull(handle, false); }
hg_return_t run_sum(hg_handle_t handle) { return pull(handle, true); }
void register_functions() {
  MERCURY_REGISTER("pull", pull_in_t, pull_out_t, run_pull);
  MERCURY_REGISTER("sum", pull_in_t, pull_out_t, run_sum);
}

void measure(const char* url, na_addr_t server) {
  const hg_id_t pull_id = MERCURY_REGISTER("pull", pull_in_t, pull_out_t, nullptr);
  const hg_id_t sum_id = MERCURY_REGISTER("sum", pull_in_t, pull_out_t, nullptr);
  std::vector<uint64_t> memory(size_t{64} << 17);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = i * 0x9E3779B97F4A7C15;
  for (size_t size : {size_t{1} << 20, size_t{64} << 20})
    for (size_t segments : {size_t{1}, size_t{1024}}) {
      std::vector<void*> addresses;
      const std::vector<size_t> sizes(segments, size / segments);
      // In reverse order, so that NA can't join adjacent segments.
      for (size_t i = segments; i-- > 0;) addresses.push_back(reinterpret_cast<char*>(memory.data()) + i * sizes[0]);
      pull_in_t in{HG_BULK_NULL, size > 1 << 20 ? 9u : 101u, 1};
      pull_out_t out{};
      check(
          HG_Bulk_handle_create(segments, addresses.data(), sizes.data(), HG_BULK_READ_ONLY, &in.memory) == HG_SUCCESS,
          "HG_Bulk_handle_create()");
      call(server, pull_id, &in, &out);
      std::printf("{\"url\": \"%s\", \"bytes\": %zu, \"segments\": %zu, \"GB_per_s\": %.2f}\n", url, size, segments,
                  static_cast<double>(size) / static_cast<double>(out.ns));
      if (segments == 1 && size > 1 << 20) {
        for (hg_uint32_t pieces : {1u, 16u}) {
          in.pieces = pieces;
          call(server, sum_id, &in, &out);
          check(out.sum == sum_of(memory.data(), memory.size()), "the sum");
          std::printf("{\"url\": \"%s\", \"bytes\": %zu, \"pull_and_sum_in_pieces\": %u, \"ms\": %.2f}\n", url, size,
                      pieces, static_cast<double>(out.ns) * 1e-6);
        }
      }
      HG_Bulk_handle_free(in.memory);
    }
}

}  // namespace

int main(int argc, char** argv) {
  const char* url = argc > 1 ? argv[1] : "na+sm";
  return bench::measure_between_two(url, register_functions, [url](na_addr_t server, pid_t) { measure(url, server); });
}
