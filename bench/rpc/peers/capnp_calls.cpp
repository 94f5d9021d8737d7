// Measures Cap'n Proto calls of 64 bytes in both directions between two processes over TCP on the loopback: round trip,
// and rate with 64 outstanding calls. capnp_calls [SECONDS]
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>
#include <deque>

#include "echo.capnp.h"
#include "measure.hpp"

namespace {

class echo_server final : public Echo::Server {
  kj::Promise<void> echo(EchoContext context) override {
    context.getResults().setOut(context.getParams().getIn());
    return kj::READY_NOW;
  }
};

void without_delay(kj::AsyncIoStream& s) {
  const int on = 1;
  s.setsockopt(IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void serve(int to) {
  auto io = kj::setupAsyncIo();
  auto address = io.provider->getNetwork().parseAddress("127.0.0.1", 0).wait(io.waitScope);
  auto listener = address->listen();
  bench::send_port(to, listener->getPort());
  auto stream = listener->accept().wait(io.waitScope);
  without_delay(*stream);
  capnp::TwoPartyVatNetwork network(*stream, capnp::rpc::twoparty::Side::SERVER);
  auto rpc = capnp::makeRpcServer(network, kj::heap<echo_server>());
  network.onDisconnect().wait(io.waitScope);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    serve(ends[1]);
    _exit(0);
  }
  {
    auto io = kj::setupAsyncIo();
    auto address = io.provider->getNetwork().parseAddress("127.0.0.1", bench::receive_port(ends[0])).wait(io.waitScope);
    auto stream = address->connect().wait(io.waitScope);
    without_delay(*stream);
    capnp::TwoPartyClient client(*stream);
    auto server = client.bootstrap().castAs<Echo>();
    const auto post = [&] {
      auto request = server.echoRequest();
      auto in = request.initIn();
      in.setA(1);
      in.setH(2);
      return request.send();
    };
    const double ns = bench::round_trip(seconds, [&] {
      auto response = post().wait(io.waitScope);
      if (response.getOut().getH() != 2) _exit(1);
    });
    std::deque<decltype(post())> under_way;
    uint64_t n = 0;
    const double begin = bench::now();
    while (bench::now() < begin + seconds)
      for (int i = 0; i < bench::window; ++i, ++n) {
        if (under_way.size() == bench::window) {
          under_way.front().wait(io.waitScope);
          under_way.pop_front();
        }
        under_way.push_back(post());
      }
    for (auto& f : under_way) f.wait(io.waitScope);
    bench::print("capnp", ns, static_cast<double>(n) / (bench::now() - begin));
  }
  waitpid(child, nullptr, 0);
  return 0;
}
