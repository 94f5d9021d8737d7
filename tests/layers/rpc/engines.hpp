// Two engines of one process, which communicate over the network as two processes would.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "lci/rpc.hpp"

namespace test {

using namespace std::chrono_literals;
namespace rpc = lci::rpc;

/// A server, by default with a background thread, and a client.
struct engines {
  explicit engines(rpc::options of_server = rpc::options().background())
      : server("tcp://127.0.0.1", of_server),
        client("tcp://127.0.0.1", rpc::options().client()),
        there(client.connect(server.url())) {}
  rpc::engine server;
  rpc::engine client;
  rpc::peer there;
};

/// The text of the exception that f() throws, which must be an E.
template <class E, class F>
std::string thrown_by(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace test
