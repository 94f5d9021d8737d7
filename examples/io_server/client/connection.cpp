#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace io_server {

namespace {

/// Seconds that a call polls before it sleeps. Most calls complete within that time, and a wake-up takes as long as a
/// call.
constexpr double awake = 0.001;
/// Seconds between two checks of a waiting call whether the server is still connected.
constexpr double look_again = 0.25;
/// Packets for requests and replies, of which a thread has a few at a time. The default number takes 0.5 GiB of address
/// space, which `ulimit -v` may forbid.
constexpr size_t most_packets = 4096;

}  // namespace

connection::connection(const std::string& address, double timeout) : timeout_(timeout) {
  runtime_ = lci::alloc_runtime_x()
                 .bootstrap("none")
                 .max_peers(4)
                 .accept_external_peers(false)
                 .alloc_default_packet_pool(false)
                 .alloc_default_device(false)
                 .name("io client")();
  try {
    const size_t packets = std::min(lci::get_g_default_attr().npackets, most_packets);
    packets_ = lci::alloc_packet_pool_x().runtime(runtime_).npackets(packets)();
    device_ = lci::alloc_device_x().runtime(runtime_).packet_pool(packets_)();
    server_ = lci::connect_x(address).runtime(runtime_).device(device_).timeout(timeout)().rank;
    const answer greeted = call(request{});
    if (greeted.error != 0) throw std::runtime_error("the server at " + address + " does not answer as lci_iod does");
  } catch (...) {
    lost_.store(true, std::memory_order_release);
    free_.clear();
    free_resources();
    throw;
  }
}

connection::~connection() {
  leave();
  try {
    lci::disconnect_x(server_).runtime(runtime_).device(device_)();
    for (auto& s : free_) {
      lci::deregister_rcomp_x(s->handle).runtime(runtime_)();
      lci::free_comp_x(&s->arrived).runtime(runtime_)();
    }
    free_resources();
  } catch (const std::exception&) {
    // The server has failed, so there is no session to end.
  }
}

void connection::free_resources() {
  if (!device_.is_empty()) lci::free_device_x(&device_).runtime(runtime_)();
  if (!packets_.is_empty()) lci::free_packet_pool_x(&packets_).runtime(runtime_)();
  lci::free_runtime(&runtime_);
}

void connection::leave() {
  if (is_lost()) return;
  request r;
  r.what = op::bye;
  call(r);
  lost_.store(true, std::memory_order_release);
}

std::unique_ptr<connection::slot> connection::take_slot() {
  std::lock_guard guard(mutex_);
  std::unique_ptr<slot> s;
  if (free_.empty()) {
    s = std::make_unique<slot>();
    s->arrived = lci::alloc_sync_x().runtime(runtime_)();
    s->handle = lci::register_rcomp_x(s->arrived).runtime(runtime_)();
  } else {
    s = std::move(free_.back());
    free_.pop_back();
  }
  s->number = ++last_number_;
  s->has_arrived = s->may_last = false;
  return s;
}

void connection::put_slot(std::unique_ptr<slot> s) {
  std::lock_guard guard(mutex_);
  free_.push_back(std::move(s));
}

void connection::lose() {
  if (lost_.exchange(true)) return;
  try {
    lci::disconnect_x(server_).runtime(runtime_).device(device_)();
  } catch (const std::exception&) {
  }
}

bool connection::send(const request& r, std::string_view text, std::string_view text2, const void* data) {
  const size_t size = sizeof r + text.size() + text2.size() + r.data_size;
  void* packet;
  while ((packet = lci::get_upacket_x().runtime(runtime_).packet_pool(packets_)()) == nullptr)
    lci::progress_x().device(device_)();
  auto* to = static_cast<char*>(packet);
  std::memcpy(to, &r, sizeof r);
  to += sizeof r;
  for (const std::string_view t : {text, text2}) {
    if (!t.empty()) std::memcpy(to, t.data(), t.size());
    to += t.size();
  }
  if (r.data_size != 0) std::memcpy(to, data, r.data_size);
  try {
    for (;;) {
      const lci::status_t s =
          lci::post_am_x(server_, packet, size, lci::COMP_NULL_RETRY, request_queue).device(device_)();
      if (!s.is_retry()) return s.is_done();
      if (is_lost()) break;
      lci::progress_x().device(device_)();
    }
  } catch (const std::exception&) {
    lose();
  }
  lci::put_upacket_x(packet).runtime(runtime_)();
  return false;
}

bool connection::answers() {
  request r;
  r.what = op::stat;  // of the root
  try {
    call(r);
  } catch (const std::exception&) {
    return false;
  }
  return !is_lost();
}

bool connection::wait(slot& s, lci::status_t* arrived) {
  using clock = std::chrono::steady_clock;
  const std::chrono::duration<double> limit(timeout_);
  auto until = clock::now() + limit;
  try {
    if (lci::sync_wait_for_x(s.arrived, awake, arrived).device(device_).park(false)()) return true;
  } catch (const std::exception&) {
    lose();
  }
  while (!is_lost()) {
    try {
      if (lci::sync_wait_for_x(s.arrived, look_again, arrived).device(device_)()) return true;
      // Only a post reports an orderly disconnect of the server. It drops this message, since the handle is
      // unregistered.
      lci::post_am_x(server_, nullptr, 0, lci::COMP_NULL_RETRY, ~lci::rcomp_t{0} >> 8).device(device_)();
    } catch (const std::exception&) {
      break;
    }
    if (clock::now() <= until) continue;
    if (!s.may_last || !answers()) break;
    until = clock::now() + limit;
  }
  // Check for the reply once more: it may have arrived before the failure that was reported.
  if (lci::sync_test_x(s.arrived, arrived).runtime(runtime_)()) return true;
  lose();
  return false;
}

std::unique_ptr<connection::slot> connection::begin(request r, std::string_view text, std::string_view text2,
                                                    const void* data) {
  if (is_lost()) return nullptr;
  std::unique_ptr<slot> s = take_slot();
  r.text_size = static_cast<uint16_t>(text.size());
  r.text2_size = static_cast<uint16_t>(text2.size());
  r.reply_to = s->handle;
  r.number = s->number;
  s->may_last = r.what == op::fsync || r.what == op::fallocate;
  if (send(r, text, text2, data)) return s;
  (void)s.release();  // as in end()
  return nullptr;
}

bool connection::is_over(slot& s) {
  if (s.has_arrived || is_lost()) return true;
  try {
    lci::progress_x().device(device_)();
    s.has_arrived = lci::sync_test_x(s.arrived, &s.reply).runtime(runtime_)();
  } catch (const std::exception&) {
    lose();
  }
  return s.has_arrived || is_lost();
}

answer connection::end(std::unique_ptr<slot> s, void* into, size_t room) {
  answer a;
  if (s == nullptr) return a;
  lci::status_t arrived = s->reply;
  if (!s->has_arrived && !wait(*s, &arrived)) {
    (void)s.release();  // a late reply may still signal it: it stays until the process ends
    return a;
  }
  reply got;
  if (arrived.size >= sizeof got) {
    std::memcpy(&got, arrived.buffer, sizeof got);
    if (got.number == s->number && got.size <= arrived.size - sizeof got) {
      a.error = got.error;
      a.result = got.result;
      a.second = got.second;
      a.size = std::min<size_t>(got.size, room);
      if (a.size != 0) std::memcpy(into, static_cast<char*>(arrived.buffer) + sizeof got, a.size);
    }
  }
  std::free(arrived.buffer);
  put_slot(std::move(s));
  return a;
}

answer connection::call(request r, std::string_view text, std::string_view text2, const void* data, void* into,
                        size_t room) {
  if (sizeof r + text.size() + text2.size() + r.data_size > most_message) {
    answer a;
    a.error = ENAMETOOLONG;
    return a;
  }
  return end(begin(r, text, text2, data), into, room);
}

connection::copied connection::copy(lci::direction_t direction, void* local, size_t size, const lci::rmr_t& remote,
                                    size_t at) {
  if (is_lost()) return copied::failed;
  std::unique_ptr<slot> s = take_slot();
  bool posted = false;
  try {
    const lci::status_t posting = lci::post_comm_x(direction, server_, local, size, s->arrived)
                                      .remote_disp(at)
                                      .rmr(remote)
                                      .device(device_)
                                      .deadline(timeout_)
                                      .allow_retry(false)();
    posted = posting.is_posted();
  } catch (const lci::peer_failure_error&) {
    put_slot(std::move(s));
    lose();
    return copied::failed;
  } catch (const std::exception&) {  // the local memory can't be registered
    put_slot(std::move(s));
    return copied::failed;
  }
  if (!posted) {
    put_slot(std::move(s));
    return copied::at_once;
  }
  lci::status_t ended;
  if (!wait(*s, &ended)) {
    (void)s.release();
    return copied::failed;
  }
  put_slot(std::move(s));
  return ended.is_done() ? copied::later : copied::failed;
}

connection::registered::registered(connection& c, const void* memory, size_t size) : connection_(c) {
  region_ = lci::register_memory_x(const_cast<void*>(memory), size).device(c.device_)();
  remote_ = lci::get_rmr_x(region_).runtime(c.runtime_)();
}

connection::registered::~registered() { lci::deregister_memory_x(&region_).runtime(connection_.runtime_)(); }

}  // namespace io_server
