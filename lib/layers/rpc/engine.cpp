// Engines and peers.
#include "lci/rpc.hpp"
#include "lib/layers/rpc/core.hpp"
#include "lib/layers/rpc/region.hpp"

namespace lci::rpc {

using detail::engine_core;

struct peer::state {
  std::shared_ptr<engine_core> engine;
  na_addr_t address;
  bool owned;

  state(std::shared_ptr<engine_core> e, na_addr_t a, bool o) : engine(std::move(e)), address(a), owned(o) {}
  ~state() {
    const detail::answer_scope use(*engine);
    if (use.is_open()) NA_Addr_free(engine->na(), address);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
};

peer::peer(std::shared_ptr<engine_core> e, void* address, bool owned)
    : state_(std::make_shared<state>(std::move(e), address, owned)) {}

void* peer::address() const { return state_ != nullptr ? state_->address : nullptr; }

void* peer::address_for(const engine_core& e) const {
  if (LCI_UNLIKELY(state_ == nullptr))
    throw invalid_argument_error("rpc: the peer is none: use what connect() returned");
  if (LCI_UNLIKELY(state_->engine.get() != &e))
    throw invalid_argument_error("rpc: the peer is of another engine than the function: connect by the same engine");
  return state_->address;
}

std::string peer::url() const {
  if (state_ == nullptr) throw invalid_argument_error("rpc::peer::url: the peer is none");
  const engine_core::entry use(*state_->engine);
  char text[NA_MAX_ADDR_LEN] = "";
  if (NA_Addr_to_string(state_->engine->na(), text, sizeof text, state_->address) != NA_SUCCESS)
    throw peer_error("rpc::peer::url: the peer has failed or left");
  return text;
}

peer peer::caller_of(detail::incoming& in) {
  const engine_core::entry use(in.owner);
  na_addr_t copy = NA_ADDR_NULL;
  NA_Addr_dup(in.owner.na(), in.source, &copy);
  return {in.owner.shared_from_this(), copy, true};
}

engine::engine(const std::string& url, const options& o) : core_(std::make_shared<engine_core>(url, o)) {
  core_->start();
}

engine::~engine() {
  try {
    close();
  } catch (const invalid_argument_error&) {
    // The engine is destroyed by a function that it executes, for which the destructor can't wait.
    core_->close_later();
  }
}

std::string engine::url() const { return core_->own_url(); }

peer engine::connect(const std::string& url) const {
  const engine_core::entry use(*core_);
  na_addr_t found = NA_ADDR_NULL;
  const na_return_t result = core_->find(url, &found);
  if (result == NA_INVALID_PARAM)
    throw invalid_argument_error("rpc::engine::connect: \"" + url + "\" is refused: a line on standard error says why");
  if (result != NA_SUCCESS && core_->is_closed()) throw cancelled_error("rpc::engine::connect: the engine was closed");
  if (result != NA_SUCCESS) throw peer_error("rpc::engine::connect: nobody can be reached at \"" + url + "\"");
  return {core_, found, true};
}

peer engine::self() const {
  const engine_core::entry use(*core_);
  na_addr_t found = NA_ADDR_NULL;
  NA_Addr_self(core_->na(), &found);
  return {core_, found, true};
}

namespace {
bulk none_of(const char* why) { throw invalid_argument_error(std::string("rpc::engine::expose: ") + why); }
}  // namespace

bulk engine::expose(void* data, size_t size, access a) const {
  const iovec piece{data, size};
  return expose(&piece, 1, a);
}

bulk engine::expose(const void* data, size_t size) const {
  return expose(const_cast<void*>(data), size, access::read_only);
}

bulk engine::expose(const iovec* pieces, size_t count, access a) const {
  if (pieces == nullptr || count == 0) return none_of("there are no pieces");
  std::vector<na_segment> segments;
  segments.reserve(count);
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].iov_len == 0) continue;
    if (pieces[i].iov_base == nullptr) return none_of("a piece is NULL");
    segments.push_back({reinterpret_cast<na_ptr_t>(pieces[i].iov_base), pieces[i].iov_len});
    size += pieces[i].iov_len;
  }
  if (segments.empty()) return none_of("all pieces have 0 bytes");
  return {detail::region::make_local(core_, std::move(segments), a), 0, size};
}

void engine::run() const {
  const auto core = core_;  // a function may destroy the engine
  core->run();
}
void engine::stop() const { core_->stop(); }
void engine::close() { core_->close(); }

bool engine::progress_for(int64_t ns) const {
  const auto core = core_;
  const engine_core::entry use(*core);
  return core->progress(ns);
}

}  // namespace lci::rpc
