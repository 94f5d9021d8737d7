// A service and its clients, which are not started by a common launcher:
//
//   service > address &             a server: adds up numbers, until a client ends it
//   service "$(cat address)" 3 4    a client: prints 7
//   service "$(cat address)"        ends the server
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

/// Begins each request; the numbers follow.
struct request {
  lci::rcomp_t answer_to;
  uint32_t count;
};

void serve() {
  lci::comp_t requests = lci::alloc_cq();
  const lci::rcomp_t handle = lci::register_rcomp(requests);
  std::printf("%s#%u\n", lci::get_address().c_str(), handle);
  std::fflush(stdout);
  for (bool over = false; !over;) {
    try {
      const lci::status_t s = lci::cq_wait_for(requests, 1);  // makes progress, or sleeps
      if (!s.is_done()) continue;
      if (s.size < sizeof(request)) {  // not a request
        std::free(s.buffer);
        continue;
      }
      request r;
      std::memcpy(&r, s.buffer, sizeof r);
      std::vector<double> numbers(std::min<size_t>(r.count, (s.size - sizeof r) / sizeof(double)));
      if (!numbers.empty())
        std::memcpy(numbers.data(), static_cast<char*>(s.buffer) + sizeof r, numbers.size() * sizeof(double));
      std::free(s.buffer);
      over = numbers.empty();
      double sum = 0;
      for (const double n : numbers) sum += n;
      if (!over) lci::post_am(s.rank, &sum, sizeof sum, lci::COMP_NULL, r.answer_to);
    } catch (const lci::peer_failure_error& e) {
      // A client has died, or disconnected before it got its answer.
      std::fprintf(stderr, "%s\n", e.what());
      lci::disconnect(e.failed_rank());
    }
  }
  lci::free_comp(&requests);
}

void ask(const std::string& where, const std::vector<double>& numbers) {
  const size_t end = where.rfind('#');
  if (end == std::string::npos) {
    std::fputs("service: the address must be what the server has printed\n", stderr);
    std::exit(2);
  }
  const auto handle = static_cast<lci::rcomp_t>(std::strtoul(where.c_str() + end + 1, nullptr, 10));
  const int server = lci::connect(where.substr(0, end)).rank;
  lci::comp_t answer = lci::alloc_sync();
  const request r{lci::register_rcomp(answer), static_cast<uint32_t>(numbers.size())};
  std::vector<char> message(sizeof r + numbers.size() * sizeof(double));
  std::memcpy(message.data(), &r, sizeof r);
  if (!numbers.empty()) std::memcpy(message.data() + sizeof r, numbers.data(), numbers.size() * sizeof(double));
  lci::post_am(server, message.data(), message.size(), lci::COMP_NULL, handle);
  if (!numbers.empty()) {
    lci::status_t s;
    lci::sync_wait(answer, &s);
    double sum;
    std::memcpy(&sum, s.buffer, sizeof sum);
    std::printf("%g\n", sum);
    std::free(s.buffer);
  }
  lci::disconnect(server);
  lci::free_comp(&answer);
}

}  // namespace

int main(int argc, char** argv) {
  lci::global_attr_t attr = lci::get_g_default_attr();
  attr.bootstrap = "none";
  lci::set_g_default_attr(attr);
  lci::g_runtime_init();
  if (argc < 2) {
    serve();
  } else {
    std::vector<double> numbers;
    for (int i = 2; i < argc; ++i) numbers.push_back(std::atof(argv[i]));
    ask(argv[1], numbers);
  }
  lci::g_runtime_fina();
}
