// A program of lci/rpc.hpp, outside of the source tree.
#include <lci/rpc.hpp>

int main() {
  lci::rpc::engine e("tcp://127.0.0.1");
  const auto add = e.define("add", [](int a, int b) { return a + b; });
  try {
    e.declare<int(int)>("add").on(e.self())(1);
    return 1;
  } catch (const lci::rpc::signature_error&) {
  }
  return add.on(e.self())(1, 2) == 3 ? 0 : 1;
}
