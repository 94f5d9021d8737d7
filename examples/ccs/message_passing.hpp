// A library of message passing over CCS: sends and receives of described data, matched by source and tag. Short
// messages carry their data; of longer ones the receiver gets it (rendezvous). For one thread.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <stdexcept>
#include <vector>

namespace message_passing {

constexpr int any_source = -1, any_tag = -1;

struct envelope {
  int source = any_source, tag = any_tag;
  size_t bytes = 0;
};

class library {
 public:
  /// A send or receive; in use until wait() or test() says that it is complete.
  struct request {
    envelope about;
    void* buffer = nullptr;
    size_t count = 0;
    CCS_datadesc_t desc = CCS_DATA_NULL;
    std::vector<unsigned char> packed;  // of a send by rendezvous: registered until the receiver has read it
    bool complete = false;
    library* of = nullptr;
    uintptr_t sender = 0;  // of a receive by rendezvous: the request to be released at the sender
  };

  /// All processes make their libraries, and their other contexts, in the same order.
  library() {
    check(CCS_new_context(&context_));
    check(CCS_register_handler(context_, eager_id, on_eager));
    check(CCS_register_handler(context_, offer_id, on_offer));
    check(CCS_register_handler(context_, released_id, on_released));
    for (const unsigned id : {eager_id, offer_id, released_id}) check(CCS_set_handler_data(context_, id, this));
    check(CCS_barrier());
  }
  ~library() { CCS_barrier(); }
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  void isend(request& r, const void* buffer, size_t count, CCS_datadesc_t desc, int to, int tag) {
    r = {};
    r.about.bytes = count * static_cast<size_t>(CCS_datadesc_size(desc));
    const auto node = static_cast<CCS_node_t>(to);
    if (r.about.bytes <= longest_eager) {
      check(CCS_amrequest(context_, node, const_cast<void*>(buffer), static_cast<unsigned>(count), desc, eager_id, 1,
                          tag));
      r.complete = true;
      return;
    }
    r.packed.resize(r.about.bytes);
    check(CCS_pack(r.packed.data(), const_cast<void*>(buffer), static_cast<int>(count), desc, r.packed.size()));
    check(CCS_register_mem(r.packed.data(), r.packed.size()));
    check(CCS_amrequest(context_, node, nullptr, 0, CCS_DATA_NULL, offer_id, 4, tag, r.packed.data(), r.packed.size(),
                        &r));
  }

  void irecv(request& r, void* buffer, size_t count, CCS_datadesc_t desc, int from, int tag) {
    r = {};
    r.about.source = from;
    r.about.tag = tag;
    r.buffer = buffer;
    r.count = count;
    r.desc = desc;
    r.of = this;
    for (auto m = unexpected_.begin(); m != unexpected_.end(); ++m) {
      if (!match(r.about, m->about)) continue;
      const arrival found = std::move(*m);
      unexpected_.erase(m);
      return receive(r, found);
    }
    posted_.push_back(&r);
  }

  bool test(const request& r) {
    CCS_poll();
    return r.complete;
  }
  envelope wait(const request& r) {
    while (!test(r)) {
    }
    return r.about;
  }
  void send(const void* buffer, size_t count, CCS_datadesc_t desc, int to, int tag) {
    request r;
    isend(r, buffer, count, desc, to, tag);
    wait(r);
  }
  envelope recv(void* buffer, size_t count, CCS_datadesc_t desc, int from, int tag) {
    request r;
    irecv(r, buffer, count, desc, from, tag);
    return wait(r);
  }

 private:
  enum : unsigned { eager_id, offer_id, released_id };
  static constexpr size_t longest_eager = CCS_MAX_AM_LENGTH;

  /// A message that has arrived: its data, or where that is at the sender.
  struct arrival {
    envelope about;
    std::vector<unsigned char> data;
    void* address = nullptr;
    uintptr_t sender = 0;
  };

  static library& of_handler(CCS_token_t token) { return *static_cast<library*>(CCS_handler_data(token)); }
  static void check(int result) {
    if (result != CCS_SUCCESS) throw std::runtime_error("CCS refused a call: see its message");
  }
  static bool match(const envelope& wanted, const envelope& got) {
    return (wanted.source == any_source || wanted.source == got.source) &&
           (wanted.tag == any_tag || wanted.tag == got.tag);
  }

  static void on_eager(CCS_token_t token, void* data, unsigned bytes, int tag) {
    arrival m;
    CCS_sender_rank(token, &m.about.source);
    m.about.tag = tag;
    m.about.bytes = bytes;
    const auto* const begin = static_cast<unsigned char*>(data);
    if (bytes > 0) m.data.assign(begin, begin + bytes);
    of_handler(token).deliver(std::move(m));
  }
  static void on_offer(CCS_token_t token, void*, unsigned, int tag, void* address, size_t bytes, uintptr_t sender) {
    arrival m;
    CCS_sender_rank(token, &m.about.source);
    m.about.tag = tag;
    m.about.bytes = bytes;
    m.address = address;
    m.sender = sender;
    of_handler(token).deliver(std::move(m));
  }
  static void on_released(CCS_token_t, void*, unsigned, request* r) {
    check(CCS_deregister_mem(r->packed.data(), r->packed.size()));
    r->complete = true;
  }
  static void on_read(void* request_of_receive) {
    auto* const r = static_cast<request*>(request_of_receive);
    check(CCS_amrequest(r->of->context_, static_cast<CCS_node_t>(r->about.source), nullptr, 0, CCS_DATA_NULL,
                        released_id, 1, r->sender));
    r->complete = true;
  }

  void deliver(arrival m) {
    for (auto r = posted_.begin(); r != posted_.end(); ++r) {
      if (!match((*r)->about, m.about)) continue;
      request* const found = *r;
      posted_.erase(r);
      return receive(*found, m);
    }
    unexpected_.push_back(std::move(m));
  }

  /// The message must have as many bytes as the receive, or fewer: then whole elements, or bytes of a contiguous one.
  void receive(request& r, const arrival& m) {
    r.about = m.about;
    const size_t bytes = m.about.bytes, room = r.count * static_cast<size_t>(CCS_datadesc_size(r.desc));
    const size_t size = static_cast<size_t>(CCS_datadesc_size(r.desc));
    const bool elements = bytes == room || (size > 0 && bytes % size == 0);
    if (bytes > room || (!elements && !CCS_datadesc_is_builtin(r.desc)))
      throw std::runtime_error("the message and its receive have different sizes");
    const CCS_datadesc_t desc = elements ? r.desc : CCS_DATA8;
    const size_t count = bytes == room ? r.count : elements ? bytes / size : bytes;
    if (m.sender == 0) {
      if (bytes > 0)
        check(CCS_unpack(r.buffer, const_cast<unsigned char*>(m.data.data()), static_cast<int>(count), desc, bytes));
      r.complete = true;
      return;
    }
    r.sender = m.sender;
    check(CCS_get(static_cast<CCS_node_t>(m.about.source), m.address, bytes, CCS_DATA8, r.buffer, count, desc, on_read,
                  &r));
  }

  CCS_context_t context_ = 0;
  std::list<request*> posted_;
  std::list<arrival> unexpected_;
};

}  // namespace message_passing
