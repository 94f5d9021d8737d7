// Datagrams of libfabric's providers, for peers outside of the job.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "lib/base/log.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/ofi/fabric.hpp"
#include "network/ofi/memory.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network::ofi {

namespace {

// ofi_rxm sends messages of this size from a buffer of its own; longer ones need a handshake.
constexpr size_t longest_datagram = 8192;
constexpr size_t receives = 128, sends = 256;
constexpr size_t completions_at_a_time = 32;
constexpr size_t expected_peers = 64;

/// Returns whether a peer's endpoint may have this name. After an invalid name, ofi_rxm of libfabric 1.17 takes no
/// other one.
bool is_valid(const std::string& name, const std::string& own, uint32_t format) {
  if (name.size() != own.size()) return false;
  if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6) return true;
  sockaddr_storage theirs{}, ours{};
  std::memcpy(&theirs, name.data(), std::min(name.size(), sizeof theirs));
  std::memcpy(&ours, own.data(), std::min(own.size(), sizeof ours));
  if (theirs.ss_family != ours.ss_family || length_of(theirs) > name.size()) return false;
  if (theirs.ss_family == AF_INET6) return reinterpret_cast<const sockaddr_in6&>(theirs).sin6_port != 0;
  const auto& four = reinterpret_cast<const sockaddr_in&>(theirs);
  return theirs.ss_family == AF_INET && four.sin_port != 0 && four.sin_addr.s_addr != 0;
}

class datagram_fabric final : public datagram_network {
 public:
  datagram_fabric(const net_context_attr_t& attr, const datagram_request& wanted) : provider_(attr, wanted) {
    fid_fabric* fabric = nullptr;
    const auto settings = library::settings();
    check(library::get().fabric(provider_.info().fabric_attr, &fabric, nullptr), "fi_fabric of " + provider_.name());
    fabric_.reset(fabric);
  }
  std::unique_ptr<datagram_endpoint> open() const override;

  const ofi::provider& provider() const { return provider_; }
  fid_fabric& fabric() const { return *fabric_; }

 private:
  const ofi::provider provider_;
  owned<fid_fabric> fabric_;
};

/// The fabric must exist longer.
class datagrams final : public datagram_endpoint {
 public:
  explicit datagrams(const datagram_fabric& f);
  ~datagrams() override;

  std::string name() const override;
  size_t longest() const override { return longest_; }
  address add_peer(const std::string& name) override;
  void remove_peer(address peer) override;
  datagram& buffer() override { return take(); }
  int send(address to, datagram& d, void* user) override;
  void give_back(datagram& d) override;
  int poll(datagram_sink& sink) override;
  int wait_fd() const override { return wait_fd_; }
  bool may_sleep() override;

 private:
  struct buffer_state;
  /// The context of a call to libfabric.
  struct call {
    fi_context2 space;  // some providers write here while the call is in flight; must be first
    buffer_state* of;
  };
  struct buffer_state : datagram {
    call now{};
    void* user = nullptr;
    bool receives = false;
    registration memory;
    std::unique_ptr<std::byte[]> bytes;
  };

  void open_endpoint();
  buffer_state& take();
  buffer_state* take_if_memory();
  /// Posts receive buffers until there are enough, unless the provider refuses; then the next poll tries again.
  void post_receives();
  void handle(const fi_cq_data_entry& e, int error, datagram_sink& sink);

  const datagram_fabric& fabric_;
  owned_info info_;
  owned<fid_domain> domain_;
  owned<fid_cq> queue_;
  owned<fid_av> addresses_;
  owned<fid_ep> endpoint_;
  std::unique_ptr<registrar> registrar_;
  size_t longest_ = 0;
  int wait_fd_ = -1;
  std::deque<buffer_state> all_;  // addresses are stable
  datagram* free_ = nullptr;
  size_t posted_ = 0;
};

datagrams::datagrams(const datagram_fabric& f) : fabric_(f) {
  open_endpoint();
  longest_ = std::min(longest_datagram, info_->ep_attr->max_msg_size);
  post_receives();
}

datagrams::~datagrams() {
  endpoint_.reset();  // it uses the buffers
  for (const buffer_state& b : all_)
    if (b.memory.handle != nullptr) registrar_->remove(b.memory);
}

void datagrams::open_endpoint() {
  const provider& p = fabric_.provider();
  info_.reset(library::get().dupinfo(&p.info()));
  if (info_ == nullptr) throw resource_error("ofi: fi_dupinfo: out of memory");
  fi_info& info = *info_;
  info.tx_attr->size = std::min(info.tx_attr->size, sends);
  info.rx_attr->size = std::min(info.rx_attr->size, receives);
  info.tx_attr->op_flags = FI_COMPLETION;
  const auto settings = library::settings();
  endpoint_parts parts = open_parts(fabric_.fabric(), info, info.tx_attr->size + info.rx_attr->size, expected_peers,
                                    " of " + p.name() + " on " + p.domain());
  domain_ = std::move(parts.domain);
  queue_ = std::move(parts.queue);
  addresses_ = std::move(parts.addresses);
  endpoint_ = std::move(parts.endpoint);
  wait_fd_ = parts.wait_fd;
  registrar_ = std::make_unique<registrar>(p, *domain_, *endpoint_);
}

std::string datagrams::name() const {
  std::array<char, longest_name> bytes{};
  size_t size = bytes.size();
  check(fi_getname(&endpoint_->fid, bytes.data(), &size), "fi_getname of " + fabric_.provider().name());
  return {bytes.data(), size};
}

datagram_endpoint::address datagrams::add_peer(const std::string& name) {
  fi_addr_t peer = FI_ADDR_NOTAVAIL;
  // Providers read as many bytes as their names have.
  std::string bytes = name;
  bytes.resize(longest_name, '\0');
  if (!is_valid(name, this->name(), info_->addr_format) ||
      fi_av_insert(addresses_.get(), bytes.data(), 1, &peer, 0, nullptr) != 1 || peer == FI_ADDR_NOTAVAIL)
    throw resource_error("ofi: " + fabric_.provider().name() + " does not take the name of a peer's endpoint");
  return peer;
}

void datagrams::remove_peer(address peer) {
  fi_addr_t one = peer;
  if (const int error = fi_av_remove(addresses_.get(), &one, 1, 0); error != 0)
    log_warning("ofi: fi_av_remove: " + error_text(-error));
}

datagrams::buffer_state& datagrams::take() {
  if (free_ == nullptr) {
    buffer_state& b = all_.emplace_back();
    try {
      b.bytes.reset(new std::byte[longest_]);
      if (fabric_.provider().needs(FI_MR_LOCAL)) b.memory = registrar_->add(b.bytes.get(), longest_);
    } catch (...) {
      all_.pop_back();
      throw;
    }
    b.data = b.bytes.get();
    b.now.of = &b;
    give_back(b);
  }
  datagram& d = *free_;
  free_ = d.next;
  d.size = d.begin = 0;
  d.next = nullptr;
  return static_cast<buffer_state&>(d);
}

datagrams::buffer_state* datagrams::take_if_memory() {
  try {
    return &take();
  } catch (const std::bad_alloc&) {
  } catch (const resource_error&) {
  }
  return nullptr;
}

void datagrams::give_back(datagram& d) {
  d.next = free_;
  free_ = &d;
}

int datagrams::send(address to, datagram& d, void* user) {
  auto& b = static_cast<buffer_state&>(d);
  b.user = user;
  b.receives = false;
  const ssize_t result = fi_send(endpoint_.get(), b.data, b.size, reinterpret_cast<void*>(b.memory.lkey), to, &b.now);
  return result == -FI_ENOMEM ? EAGAIN : static_cast<int>(-result);
}

void datagrams::post_receives() {
  while (posted_ < info_->rx_attr->size) {
    buffer_state* const free = take_if_memory();
    if (free == nullptr) return;
    buffer_state& b = *free;
    b.receives = true;
    const ssize_t result =
        fi_recv(endpoint_.get(), b.data, longest_, reinterpret_cast<void*>(b.memory.lkey), FI_ADDR_UNSPEC, &b.now);
    if (result != 0) {
      give_back(b);
      if (result != -FI_EAGAIN && result != -FI_ENOMEM) check(result, "fi_recv of " + fabric_.provider().name());
      return;
    }
    ++posted_;
  }
}

int datagrams::poll(datagram_sink& sink) {
  std::array<fi_cq_data_entry, completions_at_a_time> entries;
  const ssize_t n = fi_cq_read(queue_.get(), entries.data(), entries.size());
  if (n == -FI_EAVAIL) {
    fi_cq_err_entry e{};
    if (fi_cq_readerr(queue_.get(), &e, 0) != 1 || e.op_context == nullptr) return 0;
    fi_cq_data_entry one{};
    one.op_context = e.op_context;
    handle(one, e.err == 0 ? EIO : e.err, sink);
    return 1;
  }
  if (n == -FI_EAGAIN || n == -FI_EINTR || n == -FI_ENOMEM) {
    if (posted_ < info_->rx_attr->size) post_receives();
    return 0;
  }
  check(n, "fi_cq_read of " + fabric_.provider().name());
  for (ssize_t i = 0; i < n; ++i) handle(entries[static_cast<size_t>(i)], 0, sink);
  post_receives();
  return static_cast<int>(n);
}

void datagrams::handle(const fi_cq_data_entry& e, int error, datagram_sink& sink) {
  buffer_state& b = *static_cast<call*>(e.op_context)->of;
  if (!b.receives) {
    give_back(b);
    return sink.on_sent(b.user, error);
  }
  --posted_;
  if (error != 0) return give_back(b);  // a datagram is lost; its stream finds that out
  b.size = e.len;
  sink.on_datagram(b);
}

bool datagrams::may_sleep() {
  if (wait_fd_ < 0) return true;
  fid* queue = &queue_->fid;
  return fi_trywait(&fabric_.fabric(), &queue, 1) == 0;
}

std::unique_ptr<datagram_endpoint> datagram_fabric::open() const { return std::make_unique<datagrams>(*this); }

}  // namespace

}  // namespace lci::network::ofi

namespace lci::network {

std::unique_ptr<datagram_network> ofi_datagrams(const net_context_attr_t& attr, const datagram_request& wanted) {
  net_context_attr_t here = attr;
  here.device_name.clear();  // names a card of the ranks' network; the source names this one
  return std::make_unique<ofi::datagram_fabric>(here, wanted);
}

}  // namespace lci::network
