#include "lci/job.hpp"

#include "lci/operations.hpp"
#include "lib/bootstrap/bootstrap.hpp"
#include "lib/core/runtime/exchange.hpp"

namespace lci::detail {

namespace {

network::bootstrap& bootstrap_of_job() {
  const global_attr_t attr = get_g_default_attr();
  // A process whose runtimes are jobs of their own is a job of one rank.
  return network::process_bootstrap(
      {attr.bootstrap == core::no_bootstrap ? "local" : attr.bootstrap, attr.bootstrap_timeout});
}

}  // namespace

job_place join_job() {
  const network::bootstrap& boot = bootstrap_of_job();
  return {boot.rank(), boot.size()};
}

void put_in_job(const std::string& key, const std::string& value) {
  core::exchange_guard guard;
  bootstrap_of_job().put(key, value);
}

std::string get_from_job(const std::string& key, int owner) {
  core::exchange_guard guard;
  return bootstrap_of_job().get(key, owner);
}

void fence_of_job() {
  core::exchange_guard guard;
  guard.read_unread_records();
  core::fence(bootstrap_of_job());
}

}  // namespace lci::detail
