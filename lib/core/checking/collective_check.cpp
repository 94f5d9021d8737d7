#include "lib/core/checking/collective_check.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/core/device/device.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

namespace {

/// Bytes of a description; longer ones are truncated, in the same way at all ranks.
constexpr size_t longest_description = 255;

}  // namespace

/// The completion object of a receive, and its buffer. Deletes itself.
class collective_check::comparison final : public comp_impl_t {
 public:
  comparison(collective_check& of, std::string mine, uint64_t number)
      : of_(of), mine_(std::move(mine)), number_(number) {}

  void signal(status_t status) override {
    of_.forget(this);
    const std::unique_ptr<comparison> self(this);
    if (!status.is_done()) return;  // the peer has failed, which is reported elsewhere
    const std::string theirs(text_, std::min(status.size, sizeof text_));
    if (theirs == mine_) return;
    throw unequal_calls_error(mine_.substr(0, mine_.find('(')) + ": collective call number " + std::to_string(number_) +
                              " on its device = " + mine_ + " at this rank, but must be the same at all ranks; rank " +
                              std::to_string(status.rank) + " calls " + theirs);
  }

  char* text() { return text_; }

 private:
  collective_check& of_;
  const std::string mine_;
  const uint64_t number_;
  char text_[longest_description];
};

/// The completion object of a send, and its buffer. Deletes itself.
class collective_check::outgoing final : public comp_impl_t {
 public:
  explicit outgoing(std::string text) : text(std::move(text)) {}
  void signal(status_t) override { delete this; }
  const std::string text;
};

collective_check::collective_check(runtime& rt) : engine(matching_engine_attr_t{}), rt_(rt) {
  engine.runtime = runtime_t(&rt);
  engine.id = wire::check_engine;
}

collective_check::~collective_check() {
  rt_.discard_entries(engine);
  for (comparison* c : under_way_) delete c;
}

void collective_check::forget(comparison* c) {
  std::lock_guard guard(mutex_);
  under_way_.erase(c);
}

void collective_check::expect(device& d, int from, tag_t tag, const std::string& mine, uint64_t number) {
  // Once posted it owns itself, and is deleted when signalled, possibly within the post.
  comparison* const c = new comparison(*this, mine, number);
  {
    std::lock_guard guard(mutex_);
    under_way_.insert(c);
  }
  try {
    post_recv_x(from, c->text(), longest_description, tag, comp_t(c))
        .device(device_t(&d))
        .matching_engine(matching_engine_t(&engine))
        .allow_done(false)
        .allow_retry(false)();
  } catch (const peer_failure_error&) {
    forget(c);
    delete c;
  }
}

void collective_check::send(device& d, int neighbour, tag_t tag, const std::string& mine) {
  auto message = std::make_unique<outgoing>(mine);
  try {
    // Must not wait: the neighbour may do anything else before it makes its call.
    const status_t s = post_send_x(neighbour, message->text.data(), mine.size(), tag, comp_t(message.get()))
                           .device(device_t(&d))
                           .matching_engine(matching_engine_t(&engine))
                           .allow_retry(false)();
    if (s.is_posted()) (void)message.release();
  } catch (const peer_failure_error&) {
    // The collective itself reports the failure.
  }
}

void collective_check::compare(device& d, const std::string& what) {
  const int n = rt_.size(), me = rt_.rank();
  if (n < 2) return;
  const std::string mine = what.substr(0, longest_description);
  uint64_t number;
  {
    std::lock_guard guard(mutex_);
    number = calls_[d.attr.uid]++;
  }
  const tag_t tag = (static_cast<tag_t>(d.attr.uid) & 0xff) << 24 | (number & 0xffffff);
  const int before = (me + n - 1) % n, after = (me + 1) % n;
  send(d, before, tag, mine);
  if (before != after) send(d, after, tag, mine);
  // Both sends come before the first receive, since that may throw if its message has arrived.
  expect(d, before, tag, mine, number);
  if (before != after) expect(d, after, tag, mine, number);
}

}  // namespace lci::core
