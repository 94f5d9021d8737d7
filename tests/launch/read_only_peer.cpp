// A runtime that listens at the address of the first argument, with read-only memory of as many bytes as the second
// says, and a peer: it gets the memory, then puts to it all the same. Prints "refused" if the put failed and the memory
// is as before.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lci.hpp"

namespace {

using clock = std::chrono::steady_clock;

class pair_of_runtimes {
 public:
  explicit pair_of_runtimes(const char* address)
      : owner(lci::alloc_runtime_x().bootstrap("none").max_peers(2).alloc_default_device(false)()),
        network(lci::alloc_net_context_x().runtime(owner).peer_listen(address)()),
        device(lci::alloc_device_x().runtime(owner).net_context(network)()),
        peer(lci::alloc_runtime_x().bootstrap("none").max_peers(2)()),
        done(lci::alloc_sync_x().runtime(peer)()) {}
  ~pair_of_runtimes() {
    lci::free_comp_x(&done).runtime(peer)();
    lci::free_runtime(&peer);
    lci::free_device_x(&device).runtime(owner)();
    lci::free_net_context_x(&network).runtime(owner)();
    lci::free_runtime(&owner);
  }
  pair_of_runtimes(const pair_of_runtimes&) = delete;
  pair_of_runtimes& operator=(const pair_of_runtimes&) = delete;

  void progress() {
    try {
      lci::progress_x().runtime(owner).device(device)();
    } catch (const lci::peer_failure_error&) {  // the owner has disconnected the peer
    }
    lci::progress_x().runtime(peer)();
  }
  /// The peer's operation, which `post` posts. False if it fails.
  template <class Post>
  bool succeeds(Post post) {
    const clock::time_point end = clock::now() + std::chrono::seconds(60);
    try {
      lci::status_t s;
      while ((s = post()).is_retry()) progress();
      while (s.is_posted() && !lci::sync_test_x(done, &s).runtime(peer)()) {
        if (clock::now() > end) std::abort();
        progress();
      }
      rank = s.is_done() && rank < 0 ? s.rank : rank;
      return s.is_done();
    } catch (const lci::peer_failure_error&) {
      return false;
    }
  }

  lci::runtime_t owner;
  lci::net_context_t network;
  lci::device_t device;
  lci::runtime_t peer;
  lci::comp_t done;
  int rank = -1;  // the owner's id, after the first operation: connect
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 98;
  const auto size = static_cast<size_t>(std::atol(argv[2]));
  const std::string before(size, 'm');
  std::string memory = before, copy(size, '!');
  pair_of_runtimes p(argv[1]);
  lci::mr_t region = lci::register_memory_x(memory.data(), size).runtime(p.owner).device(p.device).read_only(true)();
  const lci::rmr_t key = lci::get_rmr_x(region).runtime(p.owner)();
  const std::string address = lci::get_address_x().runtime(p.owner).net_context(p.network)();
  if (!p.succeeds([&] { return lci::connect_x(address).runtime(p.peer).local_comp(p.done).timeout(60)(); })) return 1;
  if (!p.succeeds([&] { return lci::post_get_x(p.rank, copy.data(), size, p.done, 0, key).runtime(p.peer)(); }))
    return 2;
  if (copy != before) return 3;
  copy.assign(size, '!');
  const bool is_put = p.succeeds([&] {
    return lci::post_put_x(p.rank, copy.data(), size, p.done, 0, key)
        .runtime(p.peer)
        .comp_semantic(lci::comp_semantic_t::remote)();
  });
  if (is_put || memory != before) return 4;
  lci::deregister_memory_x(&region).runtime(p.owner)();
  std::puts("refused");
  return 0;
}
