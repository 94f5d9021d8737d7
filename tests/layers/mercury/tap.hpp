// A process that receives and sends HG's encoded messages instead of HG.
#pragma once

#include <mutex>

#include "lib/layers/na/direct.hpp"
#include "tests/layers/mercury/functions.hpp"

namespace test {

/// An encoded message of HG.
struct captured {
  std::string bytes;
  na_addr_t source;
  na_tag_t tag;
};

/// Receives HG's messages instead of HG.
class tap final : public na::direct_receiver {
 public:
  explicit tap(const network& net) : net_(net) { REQUIRE_CODE(NA_SUCCESS, NA_Direct_open(net.c, net.x, this)); }
  ~tap() { NA_Direct_close(net_.c); }
  tap(const tap&) = delete;
  tap& operator=(const tap&) = delete;

  void on_message(na_addr_t source, na_tag_t tag, const void* data, size_t size) override {
    const std::lock_guard guard(lock_);
    got_.push_back({std::string(static_cast<const char*>(data), size), source, tag});
  }
  void on_departure(na_addr_t) override {}

  /// Waits for the next message, a call or an answer.
  captured next(bool is_answer) {
    captured found;
    net_.until([&] {
      const std::lock_guard guard(lock_);
      for (auto m = got_.begin(); m != got_.end(); ++m) {
        if (((m->tag & na::answer_bit) != 0) != is_answer) continue;
        found = *m;
        got_.erase(m);
        return true;
      }
      return false;
    });
    return found;
  }
  void send(na_addr_t to, na_tag_t tag, const std::string& bytes) {
    net_.until([&] {
      const na_return_t code = NA_Direct_try(net_.c, bytes.data(), bytes.size(), to, tag);
      REQUIRE(code == NA_SUCCESS || code == NA_TIMEOUT);
      return code == NA_SUCCESS;
    });
  }
  /// Sends these bytes to a server and returns its answer.
  std::string answer_to(na_addr_t server, na_tag_t tag, const std::string& bytes) {
    send(server, tag, bytes);
    const captured answer = next(true);
    REQUIRE(answer.tag == (tag | na::answer_bit) && answer.source == server);
    return answer.bytes;
  }

 private:
  const network& net_;
  std::mutex lock_;
  std::vector<captured> got_;
};

inline hg_return_t result_in(const std::string& answer) {
  int32_t result = 0;
  std::memcpy(&result, answer.data() + 16, sizeof result);
  return static_cast<hg_return_t>(result);
}

}  // namespace test
