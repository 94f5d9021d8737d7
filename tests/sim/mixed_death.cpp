// The death of a rank in a mixed job, and the checks of all ranks afterwards.
#include "tests/sim/mixed_job.hpp"

namespace sim_test {

bool mixed_job::is_dead(int rank) const { return rank == options_.victim && !ranks_[rank].alive; }

// A rank's operations with itself are not affected.
bool mixed_job::involves_dead(const operation& op) const {
  return op.rank != op.peer && (is_dead(op.rank) || is_dead(op.peer));
}

void mixed_job::kill_victim() {
  world_->kill(options_.victim);
  ranks_[options_.victim].alive = false;
  std::erase_if(waiting_, [&](operation* op) { return op->rank == options_.victim; });
}

// For the victim, all other ranks have failed. Its operations with itself must end as usual, and before its
// resources are freed.
void mixed_job::isolate_victim() {
  isolated_ = true;
  for (operation& op : operations_)
    if (op.rank == options_.victim && op.peer == options_.victim && !op.accepted && !op.is_answer)
      waiting_.push_back(&op);
}

bool mixed_job::settled() const {
  for (int r = 0; r < options_.ranks; ++r)
    for (const device_state& d : ranks_[r].devices) {
      if (d.failures != expected_failures(r)) return false;
      if (!lci::test_drained_x().runtime(ranks_[r].runtime).device(d.device).receives(false)().is_done()) return false;
    }
  return true;
}

int mixed_job::expected_failures(int rank) const { return rank == options_.victim ? options_.ranks - 1 : 1; }

void mixed_job::check_death_is_known() {
  for (int r = 0; r < options_.ranks; ++r) {
    for (auto& d : ranks_[r].devices) {
      if (d.failures != expected_failures(r))
        error("rank " + std::to_string(r) + " was told of " + std::to_string(d.failures) + " failures");
      if (r == options_.victim) continue;
      try {
        (void)lci::post_am_x(options_.victim, nullptr, 0, lci::COMP_NULL_RETRY, 1)
            .runtime(ranks_[r].runtime)
            .device(d.device)();
        error("a post to a dead rank was accepted");
      } catch (const lci::peer_failure_error& e) {
        if (e.failed_rank() != options_.victim) error(std::string("wrong rank: ") + e.what());
      }
    }
  }
}

}  // namespace sim_test
