#include "lci/rpc.hpp"
#include <cstdio>
using namespace lci;
int main() {
  rpc::engine s("tcp://127.0.0.1", rpc::options().background());
  s.define("open", [](std::string const& p, int n) -> int { return int(p.size()) + n; });
  s.define("big", [](std::vector<double> v) { return v; });
  s.define("bad", [](int) -> int { throw std::out_of_range("no such thing"); });
  rpc::engine c("tcp://127.0.0.1", rpc::options().client());
  auto open = c.declare<int(std::string, int)>("open");
  auto server = c.connect(s.url());
  std::printf("%d\n", open.on(server)("abc", 1));
  auto f = open.call_x(server, "abcd", 2).deadline(std::chrono::milliseconds(500))();
  std::printf("%d\n", f.get());
  auto big = c.declare<std::vector<double>(std::vector<double>)>("big");
  std::vector<double> v(1000000, 1.5);
  std::printf("%zu\n", big.on(server)(v).size());
  std::printf("%zu\n", big.call_x(server, std::move(v))().get().size());
  try { c.declare<int(int)>("bad").on(server)(1); } catch (std::out_of_range& e) { std::printf("oor %s\n", e.what()); }
  try { c.declare<int(int)>("open").on(server)(1); } catch (rpc::error& e) { std::printf("%s\n", e.what()); }
  try { c.declare<int(int)>("nope").on(server)(1); } catch (rpc::error& e) { std::printf("%s\n", e.what()); }
  std::printf("self %d\n", s.declare<int(std::string,int)>("open").on(s.self())("x", 1));
}
