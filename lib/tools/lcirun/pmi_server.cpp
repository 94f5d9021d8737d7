#include "lib/tools/lcirun/pmi_server.hpp"

namespace lci::launcher {

namespace pmi1 = network::pmi1;

namespace {

// A faulty rank must not use up the node's memory.
constexpr size_t max_store_bytes = size_t(1) << 28;

std::string text_of(int number) { return std::to_string(number); }

/// Blocks of nodes that have equally many ranks: (first node, nodes, ranks of each).
std::string process_mapping(const std::vector<int>& nodes) {
  std::string text = "(vector";
  for (size_t i = 0; i < nodes.size();) {
    size_t same = 1;
    while (i + same < nodes.size() && nodes[i + same] == nodes[i]) ++same;
    text += ",(" + text_of(int(i)) + "," + text_of(int(same)) + "," + text_of(nodes[i]) + ")";
    i += same;
  }
  return text + ")";
}

verdict malformed(std::string text) { return {verdict::malformed, 0, std::move(text)}; }

}  // namespace

pmi_server::pmi_server(int size, std::string kvsname, send_t send, job_layout layout)
    : kvsname_(std::move(kvsname)), send_(std::move(send)), layout_(std::move(layout)), ranks_(size_t(size)) {
  // MPICH's processes read from this key which of them share a node; they work without it.
  const auto& nodes = layout_.ranks_of_nodes;
  const std::string mapping = process_mapping(nodes.empty() ? std::vector<int>{size} : nodes);
  if (mapping.size() < pmi1::value_max) store("PMI_process_mapping", mapping);
}

int pmi_server::part_of(int rank) const {
  int part = 0;
  for (const int ranks : layout_.ranks_of_parts) {
    if (rank < ranks) break;
    rank -= ranks;
    ++part;
  }
  return part;
}

verdict pmi_server::on_request(int rank, const std::string& line) {
  std::string why;
  const auto parsed = message::parse(line, why);
  if (!parsed) return malformed(why + ": '" + pmi1::printable(line) + "'");
  const message& request = *parsed;
  const std::string& cmd = request.text("cmd");
  rank_state& state = ranks_[size_t(rank)];

  if (cmd == "init") {
    state.initialized = true;
    const bool known = request.number("pmi_version") == 1;
    send_(rank, std::string("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=") +
                    (known ? "0" : "-1 msg=only_version_1_is_spoken"));
  } else if (cmd == "abort") {
    const int code = request.number("exitcode").value_or(1);
    // Cut to the 8 bits of an exit status, a code other than 0 must not become 0.
    return {verdict::abort, code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff, {}};
  } else if (!state.initialized) {
    return malformed("a request before cmd=init: '" + pmi1::printable(line) + "'");
  } else if (state.in_barrier && cmd == pmi1::ask_missing) {
    send_(rank, "cmd=" + std::string(pmi1::missing_reply) + " rc=0 ranks=" + missing());
  } else if (state.in_barrier) {
    return malformed("a request from within a barrier: '" + pmi1::printable(line) + "'");
  } else if (cmd == "get_maxes") {
    send_(rank, "cmd=maxes rc=0 kvsname_max=" + std::to_string(pmi1::kvsname_max) +
                    " keylen_max=" + std::to_string(pmi1::key_max) + " vallen_max=" + std::to_string(pmi1::value_max));
  } else if (cmd == "get_appnum") {
    send_(rank, "cmd=appnum rc=0 appnum=" + text_of(part_of(rank)));
  } else if (cmd == "get_my_kvsname") {
    send_(rank, "cmd=my_kvsname rc=0 kvsname=" + kvsname_);
  } else if (cmd == "get_universe_size") {
    send_(rank, "cmd=universe_size rc=0 size=" + text_of(int(ranks_.size())));
  } else if (cmd == "put") {
    put(rank, request);
  } else if (cmd == "get") {
    get(rank, request);
  } else if (cmd == "getbyidx") {
    get_by_index(rank, request);
  } else if (cmd == "barrier_in") {
    barrier(rank);
  } else if (cmd == "finalize") {
    // A shell script that runs as a rank may run several programs, each with its own session.
    state.initialized = false;
    send_(rank, "cmd=finalize_ack rc=0");
  } else if (cmd == "publish_name" || cmd == "unpublish_name" || cmd == "lookup_name") {
    const std::string verb = cmd.substr(0, cmd.find('_'));
    send_(rank, "cmd=" + verb + "_result rc=-1 msg=names_are_not_offered");
  } else {
    return malformed("a request that is not offered: '" + pmi1::printable(line) + "'");
  }
  return {};
}

void pmi_server::put(int rank, const message& request) {
  const std::string& key = request.text("key");
  const std::string* value = request.find("value");
  const char* refusal = nullptr;
  if (request.text("kvsname") != kvsname_) {
    refusal = "unknown_kvsname";
  } else if (key.empty() || key.size() >= pmi1::key_max) {
    refusal = "key_missing_or_too_long";
  } else if (value == nullptr || value->size() >= pmi1::value_max) {
    refusal = "value_missing_or_too_long";
  } else if (bytes_ + key.size() + value->size() > max_store_bytes) {
    refusal = "store_is_full";
  }
  if (refusal != nullptr) {
    send_(rank, std::string("cmd=put_result rc=-1 msg=") + refusal);
    return;
  }
  store(key, *value);
  send_(rank, "cmd=put_result rc=0 msg=success");
}

void pmi_server::store(const std::string& key, const std::string& value) {
  const auto [it, added] = index_.try_emplace(key, entries_.size());
  if (added) {
    entries_.emplace_back(key, value);
    bytes_ += key.size() + value.size();
    return;
  }
  std::string& old = entries_[it->second].second;
  bytes_ = bytes_ - old.size() + value.size();
  old = value;
}

void pmi_server::get(int rank, const message& request) {
  if (request.text("kvsname") != kvsname_) {
    send_(rank, "cmd=get_result rc=-1 msg=unknown_kvsname value=unknown");
    return;
  }
  const auto it = index_.find(request.text("key"));
  if (it == index_.end()) {
    send_(rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    return;
  }
  send_(rank, "cmd=get_result rc=0 msg=success value=" + entries_[it->second].second);
}

void pmi_server::get_by_index(int rank, const message& request) {
  const auto place = request.number("idx");
  if (request.text("kvsname") != kvsname_ || !place || *place < 0) {
    send_(rank, "cmd=getbyidx_results rc=-1 reason=bad_arguments");
  } else if (size_t(*place) >= entries_.size()) {
    send_(rank, "cmd=getbyidx_results rc=-2 reason=no_more_keyvals");
  } else {
    const auto& [key, value] = entries_[size_t(*place)];
    send_(rank, "cmd=getbyidx_results rc=0 nextidx=" + text_of(*place + 1) + " key=" + key + " val=" + value);
  }
}

void pmi_server::barrier(int rank) {
  ranks_[size_t(rank)].in_barrier = true;
  if (++waiting_ < int(ranks_.size())) return;
  waiting_ = 0;
  for (auto& state : ranks_) state.in_barrier = false;
  for (int i = 0; i < int(ranks_.size()); ++i) send_(i, "cmd=barrier_out rc=0");
}

std::string pmi_server::missing() const {
  constexpr int shown = 8;
  std::string text;
  int n = 0;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].in_barrier) continue;
    if (++n <= shown) text += (text.empty() ? "" : ",") + text_of(int(i));
  }
  return n > shown ? text + ",and_" + text_of(n - shown) + "_more" : text;
}

}  // namespace lci::launcher
