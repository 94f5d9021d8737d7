#include "network/tcp/outside/context.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "lib/base/hash.hpp"
#include "lib/base/log.hpp"
#include "network/tcp/endpoint.hpp"
#include "network/tcp/outside/device.hpp"
#include "network/tcp/outside/url.hpp"

namespace lci::network::outside {

namespace {

constexpr std::chrono::milliseconds check_interval{50};
// When a process ends, the kernel closes its sockets one after the other, so links may end before the control socket.
constexpr std::chrono::seconds longest_doubt{1};
constexpr std::chrono::seconds longest_link_attempt{30};
// Limits the work of one call, so that many simultaneous connections don't delay a device's messages.
constexpr int most_accepted_at_once = 32;
constexpr size_t most_parked = 64;
// Larger numbers are never valid, and a peer must not make this process allocate memory for them.
constexpr uint32_t largest_eager_message = uint32_t{1} << 24;

/// A hash of the host part of a shared-memory address: equal for processes of the same host.
uint64_t host_number_of(const std::string& near_address) {
  const size_t begin = near_address.find("//");
  if (begin == std::string::npos) return 0;
  const uint64_t hash = fnv1a(near_address.substr(0, near_address.find('/', begin + 2)));
  return hash == 0 ? 1 : hash;
}

socket_handle new_epoll() {
  socket_handle made(epoll_create1(EPOLL_CLOEXEC));
  if (made.get() < 0)
    throw resource_error(std::string("tcp: no epoll for peers outside of the job: ") + std::strerror(errno) +
                         "; raise `ulimit -n`");
  return made;
}

}  // namespace

context::context(const net_context_attr_t& attr, int rank, datagram_opener opener)
    : attr_(attr),
      rank_(rank),
      keys_(attr),
      identity_(new_nonce()),
      timeout_(static_cast<int64_t>(attr.peer_timeout * 1000)),
      events_(new_epoll()),
      introductions_(*this, keys_, events_.get(), timeout_),
      networks_(std::move(opener)) {
  if (!attr.peer_listen.empty()) listen_at_all(attr.peer_listen);
}

context::~context() {
  for (const peer_state& p : peers_)
    if (p.now == phase::connected) send_short(p.control.get(), std::string(1, leaving));
}

void context::listen_at_all(const std::string& urls) {
  constexpr const char* operation = "alloc_net_context";
  bool leaves_host = false;
  for (size_t begin = 0; begin <= urls.size();) {
    const size_t end = std::min(urls.find(',', begin), urls.size());
    const std::string text = urls.substr(begin, end - begin);
    begin = end + 1;
    const url u = parse_url(text, operation, "peer_listen");
    sockaddr_storage where = resolve(u, operation).front();
    if (!is_loopback(where) && !keys_.may_leave_host())
      throw_invalid(operation, "peer_listen", '"' + text + '"', "an address of the loopback, such as tcp://127.0.0.1:0",
                    "any host may connect elsewhere: set peer_key_file to the path of a key, or peer_auth to none if "
                    "all hosts that reach this one may be trusted");
    const int network = u.provider.empty() ? over_tcp : use({u.provider, host_of(where), operation, "peer_listen"});
    socket_handle listener(socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;  // a restarted server can listen on the port of its former connections
    socklen_t length = length_of(where);
    // Where there is no socket, no call follows: it would replace errno.
    if (listener.get() < 0 || setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listener.get(), reinterpret_cast<sockaddr*>(&where), length) != 0 || listen(listener.get(), 1024) != 0 ||
        getsockname(listener.get(), reinterpret_cast<sockaddr*>(&where), &length) != 0 ||
        !watch(events_.get(), listener.get(), EPOLLIN, listener_mark | listeners_.size(), true))
      throw resource_error("tcp: peers outside of the job can't be listened for at " + text + ": " +
                           std::strerror(errno) + "; port 0 takes a free one (LCI_ATTR_PEER_LISTEN)");
    // The address that most peers can reach.
    if (address_.empty() || (!leaves_host && !is_loopback(where))) address_ = url_of(u.provider, where);
    leaves_host = leaves_host || !is_loopback(where);
    listeners_.push_back({std::move(listener), network, number_of_provider(u.provider)});
  }
  note_use();
}

void context::open_to_external_peers(external_peer_book& book) {
  book_ = &book;
  live_.reset(new std::atomic<uint32_t>[static_cast<size_t>(book.capacity())]());
}

void context::set_near_address(const std::string& address) {
  if (address.size() > longest_address) return;
  near_address_ = address;
  near_host_ = host_number_of(address);
}

std::unique_ptr<outside_device> context::create_outside_device(size_t eager_size) {
  return std::make_unique<device>(*this, eager_size);
}

bool context::knows(const std::string& address) const { return is_url(address); }

// --- connecting ---

int context::admit() {
  const int peer = book_->admit();
  if (peer < 0) return peer;
  const auto i = static_cast<size_t>(peer - first());
  try {
    if (i >= peers_.size()) peers_.resize(i + 1);
  } catch (const std::bad_alloc&) {
    book_->retire(peer, departure::disconnected);
    throw;
  }
  peers_[i] = {};
  peers_[i].generation = next_generation_++;
  return peer;
}

int context::begin(const std::string& address, uint64_t host) {
  const url u = parse_url(address, "connect", "address");
  if (address == address_) return rank_;
  std::vector<sockaddr_storage> where = resolve(u, "connect");
  if (!keys_.may_leave_host() && !std::all_of(where.begin(), where.end(), is_loopback))
    throw_invalid("connect", "address", '"' + address + '"', "an address of the loopback",
                  "who listens elsewhere is not known: set LCI_ATTR_PEER_KEY_FILE to the path of a key, or "
                  "LCI_ATTR_PEER_AUTH=none if all hosts on the way may be trusted");
  hello h;
  h.how = keys_.how();
  h.token = identity_;
  h.host = host;
  h.network = number_of_provider(u.provider);
  const std::lock_guard guard(mutex_);
  const int network =
      u.provider.empty() ? over_tcp : use({u.provider, source_towards(where.front()), "connect", "address"});
  h.largest = largest_;
  const int peer = admit();
  if (peer < 0)
    throw resource_error("connect: all " + std::to_string(capacity()) +
                         " peer ids are in use; disconnect some, or raise LCI_ATTR_MAX_PEERS");
  peer_state& p = at(peer);
  p.now = phase::connecting;
  p.network = network;
  p.provider = h.network;
  p.is_initiator = true;
  note_use();
  p.attempt = introductions_.next_attempt();
  try {
    p.where = where;
    p.address = address;
    controls_[p.attempt] = peer;
    // The deadline of the program's connect() ends the attempt by disconnect().
    introductions_.connect(where, h, clock::time_point::max());
  } catch (...) {
    introductions_.abandon(p.attempt);
    controls_.erase(p.attempt);
    finish(peer, departure::disconnected);
    throw;
  }
  return peer;
}

void context::fail(int peer, contact::state how, const std::string& reason) {
  peer_state& p = at(peer);
  p.result.what = how;
  p.result.reason = reason;
  p.control = socket_handle();
  p.parked.clear();
  p.now = phase::unsuccessful;
}

void context::fail_without_memory(int peer) { fail(peer, contact::state::gone, "no memory"); }

void context::on_connect_failed(uint32_t attempt, bool refused, const std::string& reason) {
  if (const auto control = controls_.find(attempt); control != controls_.end()) {
    const int peer = control->second;
    controls_.erase(control);
    try {
      return fail(peer, refused ? contact::state::refused : contact::state::gone,
                  (refused ? "the runtime at " + at(peer).address + " refuses the connection: "
                           : "there is no connection with " + at(peer).address + ": ") +
                      reason);
    } catch (const std::bad_alloc&) {
      return fail_without_memory(peer);
    }
  }
  const auto link = links_.find(attempt);
  if (link == links_.end()) return;
  const int peer = link->second.peer;
  links_.erase(link);
  std::string what;
  try {
    what = "no link with " + at(peer).address + ": " + reason;
    log_warning("tcp: " + what);
  } catch (const std::bad_alloc&) {
    what = "no memory";
  }
  if (at(peer).now == phase::connected) begin_end(peer, departure::died);
  if (at(peer).now != phase::linking) return;
  abandon_link_attempts(peer);
  fail(peer, contact::state::gone, what);
}

void context::on_outcome(uint32_t attempt, const outcome& m, const std::string& address, socket_handle socket) {
  if (const auto control = controls_.find(attempt); control != controls_.end()) {
    const int peer = control->second;
    controls_.erase(control);
    try {
      if (m.what == verdict::good) return establish(peer, std::move(socket), m.largest, m.token);
      fail(peer, contact::state::moved, {});
      at(peer).result.peer = m.what == verdict::self ? rank_ : -1;
      at(peer).result.near_address = address;
      at(peer).result.address = at(peer).address;
    } catch (const std::bad_alloc&) {
      abandon_link_attempts(peer);
      fail_without_memory(peer);
    }
    return;
  }
  const auto link = links_.find(attempt);
  if (link == links_.end()) return;
  const link_attempt what = link->second;
  links_.erase(link);
  peer_state& p = at(what.peer);
  if (p.now == phase::connected) return give_link(what.peer, what.device, std::move(socket));
  if (p.now != phase::linking) return;
  try {
    p.parked.emplace(what.device, std::move(socket));
  } catch (const std::bad_alloc&) {
    abandon_link_attempts(what.peer);
    return fail_without_memory(what.peer);
  }
  if (--p.devices_left == 0) go_live(what.peer);
}

contact context::contact_with(int peer) {
  look();
  const std::lock_guard guard(mutex_);
  peer_state& p = at(peer);
  switch (p.now) {
    case phase::connecting:
    case phase::linking:
      return {};
    case phase::unsuccessful: {
      contact result = p.result;
      finish(peer, departure::disconnected);
      return result;
    }
    case phase::connected:
    case phase::ending:
    case phase::over:
      return {contact::state::made};
    case phase::idle:
      break;
  }
  return {contact::state::gone, "disconnect() has closed the connection"};
}

void context::establish(int peer, socket_handle control, uint32_t largest, const nonce& token) {
  peer_state& p = at(peer);
  if (!watch(events_.get(), control.get(), EPOLLIN | EPOLLRDHUP, control_mark | static_cast<uint32_t>(peer - first()),
             true))
    return fail(peer, contact::state::refused, std::string("it can't be watched: ") + std::strerror(errno));
  p.control = std::move(control);
  p.largest = std::min(largest, largest_eager_message);
  p.token = token;
  p.devices_left = p.is_initiator ? static_cast<int>(devices_.size()) : 0;
  p.now = phase::linking;
  if (p.devices_left == 0) return go_live(peer);
  for (const device* d : devices_)
    if (p.now == phase::linking) connect_link(peer, d->number());
}

void context::go_live(int peer) {
  peer_state& p = at(peer);
  p.now = phase::connected;
  std::map<uint16_t, socket_handle> links;
  links.swap(p.parked);
  for (auto& [number, socket] : links) give_link(peer, number, std::move(socket));
  live_[static_cast<size_t>(peer - first())].store(p.generation, std::memory_order_release);
  book_->on_connected(peer);
}

void context::connect_link(int peer, uint16_t number) {
  const peer_state& p = at(peer);
  hello h;
  h.what = purpose::link;
  h.how = keys_.how();
  h.device = number;
  h.token = p.token;
  h.network = p.provider;
  const uint32_t attempt = introductions_.next_attempt();
  links_[attempt] = {peer, number};
  try {
    introductions_.connect(p.where, h, clock::now() + longest_link_attempt);
  } catch (...) {
    introductions_.abandon(attempt);
    links_.erase(attempt);
    throw;
  }
}

void context::give_link(int peer, uint16_t number, socket_handle socket) {
  peer_state& p = at(peer);
  for (device* d : devices_)
    if (d->number() == number)
      return d->note_link({peer, p.generation, p.largest, p.network, p.is_initiator, std::move(socket)});
  if (p.parked.size() < most_parked) p.parked.emplace(number, std::move(socket));
}

// --- accepting ---

void context::accept_some(size_t listener) {
  for (int i = 0; i < most_accepted_at_once; ++i) {
    socket_handle s(accept4(listeners_[listener].socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (s.get() >= 0) {
      introductions_.add_inbound(listener, std::move(s));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (lacks_resources(errno) && errno != EAGAIN) pause(listeners_[listener], errno);
    return;
  }
}

// If it were reported again at once, a thread that sleeps until an event would not sleep.
void context::pause(listener& l, int error) {
  if (!has_waiting(l.socket) || introductions_.drop_slow_inbound()) return;
  l.pauses = epoll_ctl(events_.get(), EPOLL_CTL_DEL, l.socket.get(), nullptr) == 0;
  if (!std::exchange(warned_, true))
    log_warning(std::string("tcp: can't accept a connection of a peer outside of the job: ") + std::strerror(error) +
                "; raise `ulimit -n`");
}

void context::on_accepted(const hello& from, size_t at_listener, socket_handle socket) {
  const listener& l = listeners_[at_listener];
  if (from.what == purpose::link) return take_link(from, l.provider, std::move(socket));
  outcome m;
  m.largest = largest_;
  std::string address;
  int peer = -1;
  if (equal(from.token, identity_)) {
    m.what = verdict::self;
  } else if (from.network != l.provider) {
    m.what = verdict::other_network;
  } else if (!book_->accepts_external_peers()) {
    m.what = verdict::not_accepted;
  } else if (from.host != 0 && from.host == near_host_) {
    m.what = verdict::near;
    address = near_address_;
  } else if ((peer = admit()) < 0) {
    m.what = verdict::full;
  }
  m.address_size = static_cast<uint16_t>(address.size());
  if (peer < 0) return (void)send_short(socket.get(), encode(m) + address);
  // Returns the id if there is no connection in the end, also if something throws.
  struct returning {
    context& of;
    int peer;
    ~returning() {
      if (of.at(peer).now != phase::connected) of.finish(peer, departure::disconnected);
    }
  } const at_end{*this, peer};
  m.token = new_nonce();
  if (!send_short(socket.get(), encode(m) + address)) return;
  watch_host(socket, timeout_);
  at(peer).network = l.network;
  at(peer).provider = l.provider;
  establish(peer, std::move(socket), from.largest, m.token);
}

void context::take_link(const hello& from, uint64_t provider, socket_handle socket) {
  outcome m;
  const auto p = std::find_if(peers_.begin(), peers_.end(), [&](const peer_state& known) {
    return known.now == phase::connected && !known.is_initiator && known.provider == provider &&
           from.network == provider && equal(known.token, from.token);
  });
  if (p == peers_.end()) m.what = verdict::unknown;
  if (!send_short(socket.get(), encode(m)) || p == peers_.end()) return;
  give_link(first() + static_cast<int>(p - peers_.begin()), from.device, std::move(socket));
}

// --- devices ---

int context::use(const datagram_request& wanted) {
  const size_t index = networks_.index_of(attr_, wanted);
  for (device* d : devices_) d->open_ports(networks_);
  return static_cast<int>(index);
}

uint16_t context::add(device& d, size_t eager_size) {
  const std::lock_guard guard(mutex_);
  d.open_ports(networks_);
  devices_.push_back(&d);
  largest_ = std::max(largest_, static_cast<uint32_t>(eager_size));
  const uint16_t number = next_device_++;
  try {
    for (size_t i = 0; i < peers_.size(); ++i) {
      peer_state& p = peers_[i];
      if (p.now != phase::connected && p.now != phase::linking) continue;
      if (p.is_initiator) connect_link(first() + static_cast<int>(i), number);
      if (p.now == phase::linking) ++p.devices_left;
    }
  } catch (...) {
    forget_new(d, number);
    throw;
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    peer_state& p = peers_[i];
    if (p.now != phase::connected) continue;
    const int peer = first() + static_cast<int>(i);
    if (const auto parked = p.parked.find(number); parked != p.parked.end()) {
      d.note_link({peer, p.generation, p.largest, p.network, p.is_initiator, std::move(parked->second)});
      p.parked.erase(parked);
    }
  }
  return number;
}

void context::forget_new(const device& d, uint16_t number) {
  for (auto link = links_.begin(); link != links_.end();) {
    if (link->second.device != number) {
      ++link;
      continue;
    }
    introductions_.abandon(link->first);
    peer_state& p = at(link->second.peer);
    if (p.now == phase::linking) --p.devices_left;
    link = links_.erase(link);
  }
  devices_.erase(std::remove(devices_.begin(), devices_.end(), &d), devices_.end());
  next_device_ = number;
}

void context::remove(device& d) {
  const std::lock_guard guard(mutex_);
  devices_.erase(std::remove(devices_.begin(), devices_.end(), &d), devices_.end());
}

// --- polling ---

void context::look() {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock()) return;
  epoll_event events[32];
  const int n = epoll_wait(events_.get(), events, 32, 0);
  for (int i = 0; i < n; ++i) {
    const uint64_t mark = events[i].data.u64;
    const auto low = static_cast<uint32_t>(mark);
    if (mark >> 32 == listener_mark >> 32) {
      accept_some(low);
    } else if (mark >> 32 == control_mark >> 32) {
      if (peers_[low].now == phase::connected || peers_[low].now == phase::linking)
        read_control(first() + static_cast<int>(low));
    } else {
      introductions_.handle(mark);
    }
  }
  handle_due();
}

void context::handle_due() {
  const auto now = clock::now();
  if (now < due_) return;
  due_ = now + check_interval;
  introductions_.handle_due();
  for (size_t i = 0; i < listeners_.size(); ++i)
    if (listeners_[i].pauses)
      listeners_[i].pauses = !watch(events_.get(), listeners_[i].socket.get(), EPOLLIN, listener_mark | i, true);
  for (size_t i = 0; i < peers_.size(); ++i) {
    peer_state& p = peers_[i];
    if (p.now != phase::connected || p.trouble[0] == '\0' || now - p.since < longest_doubt) continue;
    log_warning("tcp: rank " + std::to_string(first() + static_cast<int>(i)) +
                ", a peer outside of the job, is disconnected: " + p.trouble.data());
    begin_end(first() + static_cast<int>(i), departure::died);
  }
}

}  // namespace lci::network::outside
