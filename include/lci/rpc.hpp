// Typed calls of functions in other processes. Link with liblci-rpc (pkg-config lci-rpc, CMake LCI::rpc).
// docs/guide/rpc.md explains it. C++17; coroutines are in lci/rpc/coroutine.hpp, which needs C++20.
//
//   rpc::engine e("tcp://127.0.0.1");                                      // the server
//   e.define("add", [](int a, int b) { return a + b; });
//   e.run();
//
//   rpc::engine e("tcp://127.0.0.1", rpc::options().client());             // a client
//   auto add = e.declare<int(int, int)>("add");
//   int three = add.on(e.connect(url))(1, 2);
#pragma once

#include "lci.hpp"
#include "lci/rpc/arguments.hpp"
#include "lci/rpc/buffers.hpp"
#include "lci/rpc/bulk.hpp"
#include "lci/rpc/choices.hpp"
#include "lci/rpc/codec.hpp"
#include "lci/rpc/containers.hpp"
#include "lci/rpc/engine.hpp"
#include "lci/rpc/errors.hpp"
#include "lci/rpc/function.hpp"
#include "lci/rpc/future.hpp"
#include "lci/rpc/handler.hpp"
#include "lci/rpc/library.hpp"
#include "lci/rpc/peer.hpp"
#include "lci/rpc/signature.hpp"
