// Publishing registrations: each rank sends one to all others, which then find it by address.
#include <memory>
#include <string>
#include <utility>

#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/coll/gathered.hpp"
#include "lib/coll/publication.hpp"
#include "lib/core/device/device.hpp"

namespace lci::coll {
namespace {

/// What a rank sends to the others, also if its arguments are invalid (`misused`), since the others wait for it.
struct offer {
  rmr_t rmr;
  bool misused = false;
};

}  // namespace
}  // namespace lci::coll

namespace lci::core {

publication_t publish_memory(publish_memory_args& a) {
  device& d = *a.device.p_impl;
  // All memory is allocated before the exchange: after it the other ranks use the publication, so this rank can't fail.
  coll::gathered<coll::offer> offers(d.n_ranks);
  published_memory::prepared room(static_cast<size_t>(d.n_ranks));
  auto made = std::make_unique<publication>();
  made->device = a.device;
  coll::offer& mine = offers.mine();
  const bool has_one = !a.mr.is_empty();  // MR_HOST and similar constants are no registrations
  if (has_one) mine.rmr = get_rmr_x(a.mr).runtime(a.runtime)();
  mine.misused = has_one && !d.takes(mine.rmr);
  d.published.make_room(static_cast<size_t>(d.n_ranks));
  offers.gather(a.runtime, a.device);
  if (mine.misused)
    throw_invalid("publish_memory", "mr", "registered with another device", "registered with the device");
  for (size_t r = 0; r < offers.all().size(); ++r) {
    if (offers.all()[r].misused)
      throw_invalid("publish_memory", "mr", "registered with another device at rank " + std::to_string(r),
                    "registered with the device at all ranks");
    room.set(r, offers.all()[r].rmr);
  }
  made->number = d.published.add(std::move(room), has_one ? a.mr.p_impl : nullptr);
  return made.release();
}

void unpublish_memory(unpublish_memory_args& a) {
  if (a.publication == nullptr || a.publication->is_empty())
    throw_invalid("unpublish_memory", "publication", "empty", "from publish_memory()");
  const std::unique_ptr<publication> ends(a.publication->p_impl);
  *a.publication = publication_t();
  ends->device.p_impl->published.remove(ends->number);
  // Return only when no rank finds it any more.
  barrier_x().runtime(a.runtime).device(ends->device)();
}

}  // namespace lci::core
