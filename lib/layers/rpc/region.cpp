#include "lib/layers/rpc/region.hpp"

#include <cstring>
#include <new>

#include "lib/layers/rpc/core.hpp"

namespace lci::rpc::detail {

using mercury::bulk_header;

namespace {

[[noreturn]] void refuse(const std::string& text) { throw invalid_argument_error("rpc::bulk: " + text); }

na_memory describe(const engine_core& e, const std::vector<na_segment>& segments, access a) {
  na_mem_handle_t memory = NA_MEM_HANDLE_NULL;
  // NA takes a pointer to non-const, but does not write to the list.
  const na_return_t result =
      NA_Mem_handle_create_segments(e.na(), const_cast<na_segment*>(segments.data()), segments.size(),
                                    a == access::read_only ? NA_MEM_READ_ONLY : NA_MEM_READWRITE, &memory);
  if (result == NA_NOMEM_ERROR) throw std::bad_alloc();
  if (result != NA_SUCCESS) refuse("the memory can't be described: is it in the address space?");
  return {e.na(), memory};
}

}  // namespace

region::region(std::shared_ptr<engine_core> e, std::vector<na_segment> segments, access a)
    : engine_(std::move(e)),
      segments_(std::move(segments)),
      size_(mercury::size_of(segments_)),
      segment_count_(segments_.size()),
      access_(a),
      owner_(NA_ADDR_NULL),
      process_(engine_->process),
      memory_(describe(*engine_, segments_, a)) {
  std::lock_guard guard(engine_->regions_lock);
  engine_->all_regions.insert(this);
}

region::region(std::shared_ptr<engine_core> e, na_memory memory, const bulk_header& h, size_t size, na_addr_t owner)
    : engine_(std::move(e)),
      size_(size),
      segment_count_(h.segments),
      access_((h.flags & NA_MEM_READ_ONLY) != 0 ? access::read_only : access::read_write),
      owner_(owner),
      process_(h.process),
      id_(h.id),
      memory_(std::move(memory)) {
  std::lock_guard guard(engine_->regions_lock);
  engine_->all_regions.insert(this);
}

std::shared_ptr<region> region::make_local(std::shared_ptr<engine_core> e, std::vector<na_segment> segments, access a) {
  engine_core& core = *e;
  const engine_core::entry use(core);
  auto made = std::make_shared<region>(std::move(e), std::move(segments), a);
  std::lock_guard guard(core.regions_lock);
  made->id_ = core.next_region++;
  core.regions.emplace(made->id_, made);
  return made;
}

region::~region() {
  std::lock_guard guard(engine_->regions_lock);
  engine_->all_regions.erase(this);
  if (is_local() && id_ != 0) engine_->regions.erase(id_);
  close();
}

void region::close() { memory_.free(); }

size_t region::prepare() {
  std::lock_guard guard(lock_);
  if (is_local() && !is_registered_) {
    if (NA_Mem_register(engine_->na(), memory_.get()) != NA_SUCCESS)
      throw memory_error("rpc::bulk: the network can't register the memory");
    is_registered_ = true;
  }
  return NA_Mem_handle_get_serialize_size(engine_->na(), memory_.get());
}

void region::write(writer& w, size_t offset, size_t size) {
  const engine_core::entry use(*engine_);
  const size_t handle_size = prepare();
  const bool whole = offset == 0 && size == size_;
  bulk_header h;
  h.flags = (access_ == access::read_only ? NA_MEM_READ_ONLY : 0) | (whole ? 0 : mercury::bulk_is_range);
  h.size = size;
  h.segments = segment_count_;
  h.process = process_;
  h.id = id_;
  w.raw(static_cast<uint64_t>(sizeof h + (whole ? 0 : sizeof(uint64_t)) + handle_size));
  w.raw(h);
  if (!whole) w.raw(static_cast<uint64_t>(offset));
  if (NA_Mem_handle_serialize(engine_->na(), w.skip(handle_size), handle_size, memory_.get()) != NA_SUCCESS)
    throw memory_error("rpc::bulk: the network can't describe the memory");
}

void write_bulk(writer& w, const bulk& b) {
  if (b.region_ == nullptr) return w.raw(uint64_t{0});
  if (&b.region_->engine() != w.where().engine)
    refuse("it is of another engine than the call: expose the memory by the engine of the call");
  b.region_->write(w, b.offset_, b.size_);
}

bulk read_bulk(reader& r) {
  const size_t size = r.count(1);
  if (size == 0) return {};
  mercury::bulk_message m;
  if (const hg_return_t result = mercury::read_bulk(r.take(size), size, m); result != HG_SUCCESS)
    result == HG_SIZE_ERROR ? throw_cut_message() : throw_bad_message("a bulk is damaged");
  const bulk_header& h = m.head;
  auto engine = r.where().engine->shared_from_this();
  const engine_core::entry use(*engine);
  if (h.process == engine->process) {
    std::shared_ptr<region> own;  // may be the last reference, whose release takes the lock
    std::lock_guard guard(engine->regions_lock);
    const auto found = engine->regions.find(h.id);
    if (found != engine->regions.end())
      if (own = found->second.lock(); own != nullptr && own->size() >= m.base + h.size)
        return {std::move(own), static_cast<size_t>(m.base), static_cast<size_t>(h.size)};
    throw_bad_message("a bulk is of memory that this process no longer exposes");
  }
  na_mem_handle_t handle = NA_MEM_HANDLE_NULL;
  const na_return_t result = NA_Mem_handle_deserialize(engine->na(), &handle, m.memory, m.memory_size);
  if (result == NA_NOMEM_ERROR) throw std::bad_alloc();
  if (result != NA_SUCCESS) throw_bad_message("a bulk is damaged");
  na_memory memory(engine->na(), handle);
  if (!mercury::describes(handle, m)) throw_bad_message("a bulk is damaged");
  auto made = std::make_shared<region>(engine, std::move(memory), h, m.base + h.size, r.where().peer);
  return {std::move(made), static_cast<size_t>(m.base), static_cast<size_t>(h.size)};
}

namespace {

void copy(const region& to, size_t to_offset, const region& from, size_t from_offset, size_t size) {
  mercury::copy_pieces(to.segments(), to_offset, from.segments(), from_offset, size);
}

}  // namespace

call* transfer(const bulk& remote, const bulk& local, size_t size, bool is_pull, int64_t deadline) {
  if (!remote || !local) refuse("a transfer needs two bulks that are not none");
  if (!local.is_local()) refuse("the local memory is another process's: pass memory of this process");
  engine_core& e = remote.region_->engine();
  if (&local.region_->engine() != &e) refuse("the two bulks are of different engines");
  if (!is_pull && remote.region_->may() == access::read_only) refuse("the remote memory may only be read");
  if (is_pull && local.region_->may() == access::read_only) refuse("the local memory may only be read");
  const engine_core::entry use(e);
  outgoing* const c = e.take_call();
  c->begin(nullptr, remote.region_->owner());
  call_ptr begun(c);
  if (deadline != no_limit) e.add_timer(*c, now_ns() + deadline);
  if (size == 0 || remote.region_->is_local()) {
    is_pull ? copy(*local.region_, local.offset_, *remote.region_, remote.offset_, size)
            : copy(*remote.region_, remote.offset_, *local.region_, local.offset_, size);
    c->finish(outcome::answered);
  } else {
    c->transfer(is_pull, remote.region_, remote.offset_, local.region_, local.offset_, size);
  }
  return begun.release();
}

}  // namespace lci::rpc::detail

namespace lci::rpc {

bool bulk::is_local() const { return region_ != nullptr && region_->is_local(); }

bulk bulk::sub(size_t offset, size_t size) const {
  if (offset > size_ || size > size_ - offset)
    throw invalid_argument_error("rpc::bulk::sub: " + std::to_string(size) + " bytes at " + std::to_string(offset) +
                                 " leave the bulk of " + std::to_string(size_) + " bytes");
  return {region_, offset_ + offset, size};
}

bulk bulk::beside(void* data, size_t size, access a) const {
  if (region_ == nullptr) throw invalid_argument_error("rpc::bulk: it is none");
  if (size == 0) data = const_cast<char*>("");
  const detail::engine_core::entry use(region_->engine());
  auto made = std::make_shared<detail::region>(region_->shared_engine(),
                                               std::vector<na_segment>{{reinterpret_cast<na_ptr_t>(data), size}}, a);
  return {std::move(made), 0, size};
}

prepared_transfer bulk::pull_x(const bulk& local) const { return {*this, local, true}; }
prepared_transfer bulk::pull_x(void* local, size_t size) const {
  return {*this, beside(local, size, access::read_write), true};
}
prepared_transfer bulk::push_x(const bulk& local) const { return {*this, local, false}; }
prepared_transfer bulk::push_x(const void* local, size_t size) const {
  return {*this, beside(const_cast<void*>(local), size, access::read_only), false};
}

future<void> prepared_transfer::operator()() const {
  detail::call_ptr c(detail::transfer(remote_, local_, size_, is_pull_, deadline_));
  return {remote_.region_->shared_engine(), std::move(c)};
}

}  // namespace lci::rpc
