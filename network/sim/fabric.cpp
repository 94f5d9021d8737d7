#include "network/sim/fabric.hpp"

#include <string>

#include "lib/base/check.hpp"
#include "network/sim/context.hpp"

namespace lci::network {

namespace {

/// A rank of a simulated job. Ranks are assigned in the order in which they join, and need no exchange of addresses.
class membership final : public address_exchange {
 public:
  membership(std::pair<std::shared_ptr<sim::world>, int> joined)
      : world_(std::move(joined.first)), station_(joined.second) {}

  int rank() const override { return station_ - world_->base_of(station_); }
  int size() const override { return world_->job_size_of(station_); }
  int station() const { return station_; }
  offer_id offer(const std::string&) override { refuse(); }
  void publish() override {}
  std::string read(offer_id, int) override { refuse(); }
  std::vector<std::string> read_all(offer_id) override { refuse(); }
  const std::shared_ptr<sim::world>& joined() const { return world_; }

 private:
  [[noreturn]] static void refuse() {
    throw_invalid("exchange of addresses", "backend", "sim", "one whose ranks are processes of their own",
                  "use another backend");
  }

  std::shared_ptr<sim::world> world_;
  int station_;
};

std::unique_ptr<address_exchange> join(const net_context_attr_t& attr) {
  return std::make_unique<membership>(sim::join_world(attr.sim_ranks, attr.sim_seed));
}

std::unique_ptr<address_exchange> join_alone(const net_context_attr_t& attr) {
  return std::make_unique<membership>(sim::join_world_alone(attr.sim_seed));
}

std::unique_ptr<context> create_context(address_exchange& exchange, const net_context_attr_t& attr) {
  // All contexts of a runtime use the same rank, and number their devices in common.
  auto* own = dynamic_cast<membership*>(&exchange);
  if (own == nullptr)
    throw_invalid("alloc_net_context", "backend", "sim", "the backend of the whole runtime",
                  "set LCI_ATTR_BACKEND=sim before the runtime is allocated");
  return std::make_unique<sim::context>(own->joined(), own->station(), attr);
}

}  // namespace

fabric sim_fabric() {
  return {.id = attr_backend_t::sim,
          .name = "sim",
          .look = [](const net_context_attr_t&) { return usability{}; },
          .create = create_context,
          .own_exchange = join,
          .own_lone_exchange = join_alone};
}

}  // namespace lci::network
