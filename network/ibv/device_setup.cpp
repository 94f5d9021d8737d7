// Construction and destruction of a device.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <random>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "network/ibv/device.hpp"
#include "network/ibv/queue_pair.hpp"

namespace lci::network::ibv {

namespace {

// A queue pair says itself that its peer has failed: no peer is suspected.
constexpr std::chrono::seconds longest_suspicion{0};
constexpr uint32_t fewest_sends = 4;  // minimum length of each queue pair's send queue

/// Events are polled; reading them must not block.
void never_block(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

uint32_t some_packet_number() { return std::random_device{}() & 0xffffff; }

}  // namespace

device::device(context& c, const device_attr_t& attr, size_t eager_size)
    : remote_device(c, "ibv", longest_suspicion), context_(c) {
  try {
    open(attr, eager_size);
  } catch (...) {
    close_own();
    throw;
  }
}

void device::open(const device_attr_t& attr, size_t eager_size) {
  card_ = context_.card().open();
  never_block(card_->async_fd);
  domain_ = made(library::get().alloc_pd(card_.get()), "ibv_alloc_pd");
  registrar_ = std::make_unique<registrar>(*domain_, context_.paging(), context_.attr().ibv_prefetch_strategy);
  const sizes s = choose_sizes(attr);
  make_queues(s);
  make_pairs(attr, s);
  limits_.receive_buffers = s.receives;
  reserve_peers(static_cast<size_t>(context_.size()));
  deferred_.reserve(unhandled_, spare_completions);
  deferred_.reserve(unposted_, s.receives);
  offer(eager_size);
}

void device::settle(acquaintance) {
  count_device();
  set_limits(connect());
}

device::~device() { close_own(); }

void device::close_own() {
  peers_.reset();  // first, as peers_ may receive credits until then
  if (credits_memory_.rkey != 0) registrar_->remove(credits_memory_);
}

device::sizes device::choose_sizes(const device_attr_t& attr) const {
  const ibv_device_attr& can = context_.card().device_attr();
  const auto n = static_cast<size_t>(context_.size());
  // A completion queue that overflows loses completions without an error to those who wait for them.
  const auto room = std::min<size_t>(attr.net_max_cqes, static_cast<size_t>(can.max_cqe));
  sizes s{};
  const auto most_receives = static_cast<size_t>(can.max_srq_wr);
  s.receives = static_cast<uint32_t>(std::clamp<size_t>(attr.net_max_recvs, 1, most_receives));
  const size_t left = room > s.receives ? room - s.receives : 0;
  if (left / n < fewest_sends)
    throw resource_error("ibv: " + std::to_string(room) + " completions are too few for " + std::to_string(n) +
                         " ranks and " + std::to_string(s.receives) +
                         " receive buffers; raise LCI_ATTR_NET_MAX_CQES (" + context_.card().name() + " can have " +
                         std::to_string(can.max_cqe) + "), or lower LCI_ATTR_NET_MAX_RECVS");
  const size_t sends = std::max<size_t>(attr.net_max_sends, fewest_sends);
  s.sends = static_cast<uint32_t>(std::min({sends, left / n, static_cast<size_t>(can.max_qp_wr)}));
  s.completions = static_cast<int>(s.receives + n * s.sends);
  return s;
}

void device::make_queues(const sizes& s) {
  const library& l = library::get();
  channel_ = made(l.create_comp_channel(card_.get()), "ibv_create_comp_channel");
  never_block(channel_->fd);
  completions_ = made(l.create_cq(card_.get(), s.completions, nullptr, channel_.get(), 0),
                      "ibv_create_cq of " + std::to_string(s.completions) + " entries");
  ibv_srq_init_attr receives{};
  receives.attr.max_wr = s.receives;
  receives.attr.max_sge = 1;
  receives_ =
      made(l.create_srq(domain_.get(), &receives), "ibv_create_srq of " + std::to_string(s.receives) + " entries");
  slots_.make(s.receives);
  credits_ = std::make_unique<credits>(static_cast<size_t>(context_.size()));
  credits_memory_ = registrar_->add(credits_->memory(), credits_->memory_size());
}

void device::make_pairs(const device_attr_t& attr, const sizes& s) {
  const auto n = static_cast<size_t>(context_.size());
  domains_ = std::make_unique<domains>(*card_, *domain_, attr.ibv_td_strategy);
  pair_maker maker{*completions_, *receives_, s.sends,
                   static_cast<uint32_t>(
                       std::min(context_.attr().max_inject_size + sizeof(message_head), pair_maker::largest_inline))};
  const auto reserved = static_cast<uint32_t>(std::lround(attr.net_send_reserved_pct * s.sends));
  peers_ = std::make_unique<peer[]>(n);
  numbers_.make(n);
  for (size_t r = 0; r < n; ++r) {
    peer& p = peers_[r];
    p.pair = maker.make(domains_->next());
    p.lock = attr.ibv_td_strategy == attr_ibv_td_strategy_t::per_qp ? &p.own_lock : &send_lock_;
    p.queue.make(s.sends, reserved);
    numbers_.add(p.pair->qp_num, static_cast<int>(r));
  }
  inline_size_ = maker.inline_size();
  // One line per job, as the default strategy can't be used.
  static std::atomic<bool> said{false};
  if (domains_->error() != 0 && context_.rank() == 0 && !said.exchange(true, std::memory_order_relaxed))
    log_warning(std::string("ibv: ") + context_.card().name() + " has no thread domains (" +
                std::strerror(domains_->error()) +
                "): queue pairs share its registers as its driver "
                "sees fit; LCI_ATTR_IBV_TD_STRATEGY=none asks for none");
}

void device::offer(size_t eager_size) {
  const adapter& card = context_.card();
  address& mine = own_address_;
  mine.first_packet = some_packet_number();
  mine.longest = eager_size;
  mine.has_gid = card.gid().index >= 0;
  std::memcpy(mine.gid, card.gid().value.raw, sizeof mine.gid);
  mine.lid = card.port_attr().lid;
  mine.mtu = static_cast<uint8_t>(card.port_attr().active_mtu);
  mine.reads_served = static_cast<uint8_t>(std::clamp(card.device_attr().max_qp_rd_atom, 0, most_reads));
  mine.reads_made = static_cast<uint8_t>(std::clamp(card.device_attr().max_qp_init_rd_atom, 0, most_reads));

  mine.credits_at = reinterpret_cast<uintptr_t>(credits_->memory());
  mine.credits_key = credits_memory_.rkey;

  addresses_of_all_ = offer_address(context_.exchange(), mine, own_numbers());
}

std::vector<uint32_t> device::own_numbers() const {
  std::vector<uint32_t> pairs(static_cast<size_t>(context_.size()));
  for (size_t r = 0; r < pairs.size(); ++r) pairs[r] = peers_[r].pair->qp_num;
  return pairs;
}

size_t device::connect() {
  const address& mine = own_address_;
  const std::vector<remote_end> ends = read_addresses(context_.exchange(), addresses_of_all_, mine, own_numbers());
  context_.exchange().drop(addresses_of_all_);  // its size is 4 bytes for each pair of ranks
  uint64_t shortest = mine.longest;
  for (size_t r = 0; r < ends.size(); ++r) {
    connect_pair(*peers_[r].pair, context_.card(), mine, ends[r], static_cast<int>(r));
    shortest = std::min(shortest, ends[r].device.longest);
    peer& p = peers_[r];
    p.credits_at = ends[r].device.credits_at + static_cast<uint64_t>(context_.rank()) * sizeof(uint32_t);
    p.credits_key = static_cast<uint32_t>(key_of(ends[r].device.credits_key));
  }
  return shortest;  // no rank sends before start(): see there
}

void device::start() {
  const uint32_t window = credits_->open();
  // No rank may send before all ranks are here: a packet for a queue pair that is not connected is lost, and is
  // retransmitted only after a long timeout.
  const std::vector<std::string> all =
      context_.exchange().allgather(std::string(reinterpret_cast<const char*>(&window), sizeof window));
  for (size_t r = 0; r < all.size(); ++r) {
    uint32_t its_window = 0;
    if (all[r].size() != sizeof its_window)
      throw bootstrap_error("ibv: rank " + std::to_string(r) + " uses another version of LCI; all must agree");
    std::memcpy(&its_window, all[r].data(), sizeof its_window);
    credits_->set_window(static_cast<int>(r), its_window);
  }
}

void device::set_limits(size_t longest) {
  const net_context_attr_t& attr = context_.attr();
  limits_.max_send = longest;
  limits_.max_inject = std::min<size_t>(inline_size_, limits_.max_send);
  limits_.rma = true;
  limits_.max_rma = std::min<size_t>(context_.card().port_attr().max_msg_sz, attr.max_msg_size);
  limits_.put_imm = true;
  limits_.put_then_send_ordered = true;
  limits_.max_ordered_put = limits_.max_rma;  // writes of one reliable connection are placed in posting order
  limits_.ordered = true;
  limits_.local_registration = true;
  limits_.pins_memory = registrar_->pins();
}

}  // namespace lci::network::ibv
