// How ranks tell each other where they are: each offers some blobs, publish() makes those of all ranks known at
// once, then they are read, those of some ranks at once and others' when they are met.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lci::network {

/// Whose blobs are read at once after a publish().
enum class acquaintance : uint8_t {
  all_at_once,  ///< those of all ranks, who then agree on what they all can do
  when_met,     ///< where that can wait, that of a rank when it is first talked to or heard of; what must be
                ///< alike is looked at then
};

/// Backed by the bootstrap. Offers and publish() are collective, by one thread at a time: all ranks offer the
/// same things in the same order. Reading is thread-safe.
class address_exchange {
 public:
  /// What each rank has offered at a certain point.
  struct ticket {
    uint32_t round = 0, part = 0;
  };
  /// Among the ranks of a host.
  struct place {
    int rank, size;
  };

  virtual ~address_exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// What the launcher says of this host, if it does; ranks of a host need not follow each other.
  virtual std::optional<place> place_on_host() const { return std::nullopt; }

  /// Any bytes, better a few hundred, at most some ten thousand; all parts of a round at most 64 KiB.
  virtual ticket offer(const std::string& blob) = 0;
  /// All ranks learn what was offered: one fence; none if nothing was.
  virtual void publish() = 0;
  /// What `rank` has offered, once it is published. The first time, the launcher is asked, which may take as
  /// long as an exchange of messages on this host. Throws bootstrap_error.
  virtual std::string read(ticket what, int rank) = 0;
  /// The same of each rank, by rank, in one request where that can be.
  virtual std::vector<std::string> read_all(ticket what) = 0;
  /// Nobody will read that again, of any rank.
  virtual void drop(ticket what) { (void)what; }

  std::vector<std::string> allgather(const std::string& mine) {
    const ticket what = offer(mine);
    publish();
    return read_all(what);
  }
};

}  // namespace lci::network
