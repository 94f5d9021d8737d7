// A job of one rank: this process was not started together with others.
#include <sys/random.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>

#include "lci/errors.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"

namespace lci::network {

namespace {

/// Makes a put visible only after a fence, as the interface promises, so that a missing fence is detected with one
/// rank.
class local_bootstrap final : public bootstrap {
 public:
  local_bootstrap() {
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
      timespec now{};
      clock_gettime(CLOCK_REALTIME, &now);
      random[0] = static_cast<uint64_t>(now.tv_sec);
      random[1] = static_cast<uint64_t>(now.tv_nsec);
    }
    char text[80];
    snprintf(text, sizeof text, "local_%d_%016llx%016llx", getpid(), static_cast<unsigned long long>(random[0]),
             static_cast<unsigned long long>(random[1]));
    job_id_ = text;
  }

  const char* name() const override { return "local"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string job_id() const override { return job_id_; }
  std::optional<host_place> locality() const override { return host_place{0, 1}; }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    pending_[key] = value;
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    const auto it = visible_.find(key);
    if (it == visible_.end()) {
      throw bootstrap_error(missing_key(key, owner));
    }
    return it->second;
  }

  void fence() override {
    for (auto& [key, value] : pending_) visible_[key] = std::move(value);
    pending_.clear();
  }

  void abort(int code, const std::string& message) override {
    const std::string text = "lci: abort with code " + std::to_string(code) + ": " + message + "\n";
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    _exit(code);
  }

 private:
  std::string job_id_;
  std::map<std::string, std::string> pending_, visible_;
};

bool local_detected() {
  check_not_lonely();
  return true;
}

std::unique_ptr<bootstrap> create_local() { return std::make_unique<local_bootstrap>(); }

}  // namespace

const bootstrap_kind local_kind = {"local", local_detected, create_local};

}  // namespace lci::network
