// How ranks exchange addresses: each rank offers blobs, publish() makes the blobs of all ranks available at once, then
// ranks read them, either all at once or each when it is first needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lci::network {

/// When a rank reads the others' blobs after a publish().
enum class acquaintance : uint8_t {
  all_at_once,  ///< all at once; the ranks then agree on what all of them can do
  when_met,     ///< where possible, a rank's blob is read at the first communication with it; what must be equal on
                ///< both sides is checked then
};

/// Exchanges blobs through the bootstrap. Offers and publish() are collective and called by one thread at a time: all
/// ranks offer the same things in the same order. Reading is thread-safe.
class address_exchange {
 public:
  /// Identifies one offer: what every rank offered in that call.
  struct offer_id {
    uint32_t round = 0, part = 0;
  };
  /// Position among the ranks of a host.
  struct place {
    int rank, size;
  };

  virtual ~address_exchange() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// This rank's place on its host as the launcher reports it, if it does; ranks of a host need not be consecutive.
  virtual std::optional<place> place_on_host() const { return std::nullopt; }

  /// Offers any bytes: better a few hundred, at most some ten thousand; all parts of a round together at most 64 KiB.
  virtual offer_id offer(const std::string& blob) = 0;
  /// Makes all offers available to all ranks: one fence; none if nothing was offered.
  /// Without memory it throws before the fence, which the other ranks wait in, and can be called again.
  virtual void publish() = 0;
  /// Forgets all offers that are not published: what they were made for could not be made. An offer's number must be
  /// the same at all ranks.
  virtual void withdraw() {}
  /// What `rank` has offered, after publish(). The first read asks the launcher, which may take as long as an exchange
  /// of messages on this host. Throws bootstrap_error.
  virtual std::string read(offer_id what, int rank) = 0;
  /// The offers of all ranks, indexed by rank, in one request if possible.
  virtual std::vector<std::string> read_all(offer_id what) = 0;
  /// Nothing will read this offer again, of any rank.
  virtual void drop(offer_id what) { (void)what; }

  std::vector<std::string> allgather(const std::string& mine) {
    const offer_id what = offer(mine);
    publish();
    return read_all(what);
  }
};

}  // namespace lci::network
