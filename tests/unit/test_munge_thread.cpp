// The thread that requests credentials from munged, with a munged that accepts connections and never answers.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/base/munge.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/tcp/outside/munge_thread.hpp"

namespace {

using namespace std::chrono_literals;
namespace out = lci::network::outside;

constexpr uint64_t mark_of_answers = 7;

/// A socket in a folder of its own.
class silent_munged {
 public:
  silent_munged() {
    char name[] = "/tmp/lci_munge_XXXXXX";
    folder_ = mkdtemp(name);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strcpy(at.sun_path, path().c_str());
    listener_ = lci::network::socket_handle(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(bind(listener_.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(listen(listener_.get(), 16) == 0);
  }
  ~silent_munged() {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  silent_munged(const silent_munged&) = delete;
  silent_munged& operator=(const silent_munged&) = delete;
  std::string path() const { return folder_ + "/socket"; }

 private:
  std::string folder_;
  lci::network::socket_handle listener_;
};

lci::net_context_attr_t with_munge(const std::string& socket) {
  lci::net_context_attr_t attr;
  attr.peer_auth = "munge";
  attr.peer_key_file = socket;
  return attr;
}

out::munge_request some_request() {
  out::munge_request r;
  r.own_role = "tester";
  r.hello = "hello";
  return r;
}

bool is_reported(int events, int timeout_ms) {
  epoll_event e{};
  return epoll_wait(events, &e, 1, timeout_ms) == 1 && e.data.u64 == mark_of_answers;
}

}  // namespace

TEST_CASE("a munged that never answers delays no call, and not the end of its thread's owner", "[munge]") {
  if (!lci::why_no_munge().empty()) {
    WARN("skipped: " + lci::why_no_munge());
    return;
  }
  const silent_munged silent;
  const out::credentials keys(with_munge(silent.path()));
  const lci::network::socket_handle events(epoll_create1(EPOLL_CLOEXEC));
  const auto begin = std::chrono::steady_clock::now();
  {
    out::munge_thread thread(keys, events.get(), mark_of_answers);
    const uint32_t first = thread.request(some_request());
    std::this_thread::sleep_for(20ms);  // it is in the call for the first one
    for (int i = 0; i < 100; ++i) {
      const uint32_t ticket = thread.request(some_request());
      CHECK(ticket != first);
      thread.cancel(ticket);
    }
    CHECK_FALSE(is_reported(events.get(), 50));
    CHECK(thread.take().empty());
    thread.cancel(first);
    (void)thread.request(some_request());
  }
  CHECK(std::chrono::steady_clock::now() - begin < 1800ms);  // libmunge waits for 2 s and more
}

TEST_CASE("a munged that is not there gives answers without a credential, each once", "[munge]") {
  if (!lci::why_no_munge().empty()) {
    WARN("skipped: " + lci::why_no_munge());
    return;
  }
  const out::credentials keys(with_munge("/nonexistent/socket"));
  const lci::network::socket_handle events(epoll_create1(EPOLL_CLOEXEC));
  out::munge_thread thread(keys, events.get(), mark_of_answers);
  out::munge_request both = some_request();
  both.their_role = "other";
  both.theirs = "MUNGE:AwQDAAA=:";  // libmunge refuses an empty one itself, without munged
  both.theirs.resize(out::credential_size, '\0');
  const uint32_t a = thread.request(some_request()), b = thread.request(both);
  std::vector<out::munge_answer> all;
  for (int i = 0; i < 100 && all.size() < 2; ++i) {
    REQUIRE(is_reported(events.get(), 30000));
    for (out::munge_answer& one : thread.take()) all.push_back(std::move(one));
  }
  REQUIRE(all.size() == 2);
  CHECK(all[0].ticket == a);
  CHECK(all[0].theirs == out::confirmation::yes);
  CHECK(all[1].ticket == b);
  CHECK(all[1].theirs == out::confirmation::unknown);
  CHECK(all[0].own.empty());
  CHECK(all[1].own.empty());
  CHECK(thread.take().empty());  // a report may be of an answer that the call before has taken
  CHECK_FALSE(is_reported(events.get(), 0));
}
