// The network of a job together with one for peers outside of the job.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "lci/errors.hpp"
#include "network/common/outside.hpp"
#include "network/routed/with_outside.hpp"

namespace {

namespace net = lci::network;

/// Shared memory that can't be reached.
class unreachable final : public net::context {
  std::unique_ptr<net::device> create_device(const lci::device_attr_t&, size_t) override { return nullptr; }
  std::string own_address() override { return "shm://here/1"; }
  int connect(const std::string&) override { throw lci::resource_error("the segment can't be mapped"); }
};

/// Finds that each peer is on this host. Then its own way to the peer fails as well.
class moving final : public net::outside_context {
  std::unique_ptr<net::outside_device> create_outside_device(size_t) override { return nullptr; }
  void set_near_address(const std::string&) override {}
  int connect_far(const std::string&) override { throw lci::resource_error("all peer ids are in use"); }
  bool is_used() const override { return true; }
  bool knows(const std::string&) const override { return true; }
  void open_to_external_peers(net::external_peer_book& book) override { book_ = &book; }
  int connect(const std::string&) override { return book_->admit(); }
  net::contact contact_with(int peer) override {
    book_->retire(peer, net::departure::disconnected);
    net::contact now{net::contact::state::moved};
    now.near_address = "shm://there/2";
    now.address = "tcp://127.0.0.1:1";
    return now;
  }
  net::external_peer_book* book_ = nullptr;
};

class book_of_one final : public net::external_peer_book {
 public:
  book_of_one() : external_peer_book(1, 1, true) {}
  int admit() override { return first(); }
  void on_connected(int) override {}
  void retire(int, net::departure) noexcept override { ++retired; }
  int retired = 0;
};

}  // namespace

TEST_CASE("an attempt to connect fails, and does not throw, if neither shared memory nor sockets lead to the peer") {
  book_of_one book;
  net::routed::with_outside both(std::make_unique<unreachable>(), std::make_unique<moving>());
  both.open_to_external_peers(book);
  const int peer = both.connect("tcp://127.0.0.1:1");
  REQUIRE(peer == 1);
  const net::contact result = both.contact_with(peer);
  CHECK(result.what == net::contact::state::gone);
  CHECK(result.reason == "all peer ids are in use");
  CHECK(book.retired == 1);
}
