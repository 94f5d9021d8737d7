// How the root handles each kind of frame.
#include <algorithm>
#include <cstdio>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/bootstrap/tcp_root.hpp"

namespace lci::network::tcp {

void root::handle(member& m, const frame& f) {
  if (m.rank < 0) {
    if (!stopping_.load(std::memory_order_acquire)) return join(m, f);
    return turn_away(m, "the job has ended");
  }
  switch (f.what) {
    case kind::put:
      return put(m, f);
    case kind::get:
      return answer_get(m, f);
    case kind::get_all:
      return answer_get_all(m, f);
    case kind::fence:
      return enter_fence(m, f);
    case kind::abort:
      return abort_all(m, f);
    case kind::close:
      m.has_closed = true;
      return forget(m);
    default:
      return garbage(m, "a frame that only the root sends");
  }
}

void root::turn_away(member& m, const std::string& why) {
  count_rejected(m, why);
  m.turned_away = true;
  // A peer that has not claimed a rank gets no explanation.
  if (m.claimed_rank >= 0) send(m, kind::refused, writer().text(why.substr(0, max_text)).body());
  forget(m);
}

void root::join(member& m, const frame& f) {
  reader r(f.body);
  if (!m.challenged) {
    const std::string name = r.text(sizeof magic);
    const uint32_t rank = r.number(), size = r.number(), keyed = r.number();
    m.rank_nonce = r.text(nonce_size);
    if (f.what != kind::hello || !r.complete() || name != magic || m.rank_nonce.size() != nonce_size) {
      return turn_away(m, "it is no rank of this version of LCI");
    }
    m.claimed_rank = static_cast<int>(std::min<uint32_t>(rank, 1u << 30));
    if (size != static_cast<uint32_t>(size_)) {
      return turn_away(m,
                       "WORLD_SIZE is " + std::to_string(size) + " there and " + std::to_string(size_) + " at rank 0");
    }
    if (rank >= size) return turn_away(m, "RANK=" + std::to_string(rank) + " is not below WORLD_SIZE");
    if ((keyed != 0) != key_.given()) {
      return turn_away(
          m, key_.given() ? "rank 0 has a LCI_TCP_KEY, it has none" : "it has a LCI_TCP_KEY, rank 0 has none");
    }
    m.challenged = true;
    m.root_nonce = make_nonce(nonce_size);
    const std::string proof = key_.proof(root_claim(m.rank_nonce, m.root_nonce, m.claimed_rank, size_));
    return send(m, kind::challenge, writer().text(magic).text(m.root_nonce).text(proof).body());
  }
  const std::string proof = r.text(64);
  if (f.what != kind::proof || !r.complete()) return turn_away(m, "it gave no proof of its key");
  const std::string due = key_.proof(rank_claim(m.rank_nonce, m.root_nonce, m.claimed_rank, size_));
  if (!job_key::same(proof, due)) return turn_away(m, "its LCI_TCP_KEY is another than rank 0's");
  admit(m);
}

void root::admit(member& m) {
  const auto r = static_cast<size_t>(m.claimed_rank);
  if (ranks_[r] != nullptr || has_left_[r]) {
    return turn_away(m, "there is a RANK=" + std::to_string(r) + " already, from " +
                            (ranks_[r] != nullptr ? ranks_[r]->from : "a process that has ended"));
  }
  m.rank = m.claimed_rank;
  ranks_[r] = &m;
  send(m, kind::welcome, writer().text(job_id_).body());
}

void root::put(member& m, const frame& f) {
  reader r(f.body);
  const std::string key = r.text(max_bootstrap_key);
  std::string value = r.text(max_bootstrap_value);
  if (!r.complete() || key.empty()) return garbage(m, "a malformed put");
  insist_on_memory([&]() -> std::string& { return pending_[key]; }) = std::move(value);
}

void root::answer_get(member& m, const frame& f) {
  reader r(f.body);
  const auto it = visible_.find(r.text(max_bootstrap_key));
  if (!r.complete()) return garbage(m, "a malformed get");
  const bool found = it != visible_.end();
  send(m, kind::value, writer().number(found ? 1 : 0).text(found ? it->second : "").body());
}

void root::answer_get_all(member& m, const frame& f) {
  reader r(f.body);
  const std::string prefix = r.text(max_bootstrap_key);
  if (!r.complete()) return garbage(m, "a malformed get");
  std::vector<const std::string*> found;
  for (int rank = 0; rank < size_; ++rank) {
    const auto it = visible_.find(prefix + std::to_string(rank));
    if (it == visible_.end()) {
      return send(m, kind::missing, writer().number(static_cast<uint32_t>(rank)).body());
    }
    found.push_back(&it->second);
  }
  for (size_t begin = 0; begin < found.size();) {
    size_t end = begin, bytes = 0;
    while (end < found.size() && bytes + found[end]->size() + 8 < max_body / 2) {
      bytes += found[end++]->size() + 4;
    }
    writer w;
    w.number(static_cast<uint32_t>(end - begin));
    for (; begin < end; ++begin) w.text(*found[begin]);
    send(m, kind::values, w.body());
    if (m.closing) return;
  }
}

void root::enter_fence(member& m, const frame& f) {
  reader r(f.body);
  const double seconds = r.number() / 1e3;
  if (!r.complete() || m.in_fence) return garbage(m, "a malformed or repeated fence");
  m.in_fence = true;
  ++n_waiting_;
  // The earliest timeout of all ranks decides; that rank waits a little longer for our answer.
  const auto end =
      clock::now() + (seconds > 0 ? std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds))
                                  : clock::duration(std::chrono::hours(24 * 365)));
  if (n_waiting_ == 1 || end < fence_end_) fence_end_ = end;
  if (!failure_.empty()) return fail_fence(failure_);
  if (n_waiting_ < size_) return;
  while (!pending_.empty()) {  // each is moved with its node, which needs no memory
    auto put = pending_.extract(pending_.begin());
    if (const auto before = visible_.find(put.key()); before != visible_.end())
      before->second = std::move(put.mapped());
    else
      visible_.insert(std::move(put));
  }
  n_waiting_ = 0;
  for (member* one : ranks_) one->in_fence = false;
  const std::vector<member*> everybody = ranks_;  // send() may remove some
  for (member* one : everybody) {
    if (!one->closing) send(*one, kind::fenced, {});
  }
}

void root::fail_fence(const std::string& why) {
  failure_ = why;
  n_waiting_ = 0;
  const std::vector<member*> everybody = ranks_;
  const std::string body = writer().text(why.substr(0, max_text)).body();
  for (member* one : everybody) {
    if (one == nullptr || one->closing || !one->in_fence) continue;
    one->in_fence = false;
    send(*one, kind::failed, body);
  }
}

void root::abort_all(member& by, const frame& f) {
  reader r(f.body);
  const uint32_t code = r.number();
  const std::string text = r.text(max_text);
  if (!r.complete()) return garbage(by, "a malformed abort");
  const std::string body =
      writer().number(code).text("rank " + std::to_string(by.rank) + " has aborted: " + pmi1::printable(text)).body();
  failure_ = "rank " + std::to_string(by.rank) + " has aborted";
  // Rank 0 last: its process ends on the message, and this thread with it.
  const std::vector<member*> everybody = ranks_;
  for (size_t i = everybody.size(); i-- > 0;) {
    member* one = everybody[i];
    if (one != nullptr && one != &by && !one->closing) send(*one, kind::abort, body);
  }
  by.has_closed = true;
  // The aborting rank waits for this answer before it exits: it may be rank 0, whose exit would end this thread.
  if (!by.closing) send(by, kind::abort, body);
}

}  // namespace lci::network::tcp
