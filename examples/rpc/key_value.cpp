// A store of keys and values, which other processes use by typed calls.
//
//   key_value                    the server; prints its URL
//   key_value URL put KEY VALUE
//   key_value URL get KEY
//   key_value URL list PREFIX
//   key_value URL end
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lci/rpc.hpp"

namespace rpc = lci::rpc;
using namespace std::chrono_literals;

namespace {

struct entry {
  std::string key, value;
  uint64_t version = 0;
  template <class A>
  void serialize(A& archive) {
    archive(key, value, version);
  }
};

// What both sides know: another type at either of them does not compile.
constexpr rpc::procedure<uint64_t(std::string, std::string)> put{"put"};
constexpr rpc::procedure<std::optional<entry>(std::string)> get{"get"};
constexpr rpc::procedure<std::vector<entry>(std::string)> list{"list"};
constexpr rpc::procedure<void()> end{"end"};

int serve() {
  const rpc::engine e("tcp://127.0.0.1");
  std::map<std::string, entry> entries;  // one thread executes all functions
  e.define(put, [&](std::string key, std::string value) {
    if (key.empty()) throw std::invalid_argument("the key is empty");
    entry& x = entries[key];
    x = {key, std::move(value), x.version + 1};
    return x.version;
  });
  e.define(get, [&](const std::string& key) {
    const auto found = entries.find(key);
    return found != entries.end() ? std::optional(found->second) : std::nullopt;
  });
  e.define(list, [&](const std::string& prefix) {
    std::vector<entry> found;
    for (auto at = entries.lower_bound(prefix); at != entries.end() && at->first.rfind(prefix, 0) == 0; ++at)
      found.push_back(at->second);
    return found;
  });
  e.define(end, [&] { e.stop(); });
  std::puts(e.url().c_str());
  std::fflush(stdout);
  e.run();
  return 0;
}

void print(const entry& x) {
  std::printf("%s = %s (version %llu)\n", x.key.c_str(), x.value.c_str(), static_cast<unsigned long long>(x.version));
}

int call(int argc, char** argv) {
  const rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  const rpc::peer server = e.connect(argv[1]);
  const std::string what = argv[2];
  if (what == "put" && argc == 5) {
    const auto version = e.declare(put).on(server).deadline(5s)(argv[3], argv[4]);
    std::printf("version %llu\n", static_cast<unsigned long long>(version));
  } else if (what == "get" && argc == 4) {
    const auto found = e.declare(get).on(server).deadline(5s)(argv[3]);
    if (!found) return std::puts("nothing"), 1;
    print(*found);
  } else if (what == "list" && argc == 4) {
    for (const entry& x : e.declare(list).on(server).deadline(5s)(argv[3])) print(x);
  } else if (what == "end") {
    e.declare(end).on(server)();
  } else {
    std::fputs("key_value URL put KEY VALUE | get KEY | list PREFIX | end\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return serve();
  try {
    return call(argc, argv);
  } catch (const std::invalid_argument& thrown) {  // of the function, as it was thrown there
    std::fprintf(stderr, "refused: %s\n", thrown.what());
    return 3;
  } catch (const rpc::error& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 4;
  }
}
