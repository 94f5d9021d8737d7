#include "tests/model/scheduler.hpp"

#include <sys/mman.h>
#include <ucontext.h>

#include "tests/support/testing.hpp"

#if defined(__SANITIZE_THREAD__)
#define LCI_MODEL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LCI_MODEL_TSAN 1
#endif
#endif
#ifdef LCI_MODEL_TSAN
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

namespace lci_model {

namespace {
constexpr size_t stack_size = 256 * 1024;
constexpr uint64_t step_limit = 2'000'000;

// Stacks are reused, since there are tens of thousands of schedules.
std::vector<void*> spare_stacks;
}  // namespace

struct scheduler::fiber {
  ucontext_t context;
  std::function<void()> body;
  void* stack = nullptr;
  void* tsan = nullptr;
  bool ended = false;
  const void* asleep_on = nullptr;
  bool may_time_out = false;
};

scheduler* scheduler::current_ = nullptr;

scheduler::scheduler(uint64_t seed) : random_(seed), main_(new fiber) {
  // Some schedules switch fibers at nearly every step, others let a fiber run for long.
  constexpr uint32_t rates[] = {2, 3, 5, 9, 20, 60};
  switch_one_in_ = rates[seed % 6];
}

scheduler::~scheduler() {
  for (auto& f : fibers_) {
    spare_stacks.push_back(f->stack);
#ifdef LCI_MODEL_TSAN
    __tsan_destroy_fiber(f->tsan);
#endif
  }
}

void scheduler::spawn(std::function<void()> body) {
  auto f = std::make_unique<fiber>();
  f->body = std::move(body);
  if (spare_stacks.empty()) {
    f->stack = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->stack == MAP_FAILED) throw std::bad_alloc();
  } else {
    f->stack = spare_stacks.back();
    spare_stacks.pop_back();
  }
#ifdef LCI_MODEL_TSAN
  f->tsan = __tsan_create_fiber(0);
#endif
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = f->stack;
  f->context.uc_stack.ss_size = stack_size;
  f->context.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(f.get());
  makecontext(&f->context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
  fibers_.push_back(std::move(f));
}

void scheduler::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<fiber*>((static_cast<uintptr_t>(high) << 32) | low);
  self->body();
  self->ended = true;
  scheduler* s = current_;
  s->switch_to(s->pick());  // does not return
}

std::string scheduler::run() {
  current_ = this;
#ifdef LCI_MODEL_TSAN
  main_->tsan = __tsan_get_current_fiber();
#endif
  running_ = main_.get();
  switch_to(pick());
  current_ = nullptr;
  return failure_;
}

unsigned scheduler::number() {
  if (current_ == nullptr) return 0;
  unsigned n = 0;
  while (n < current_->fibers_.size() && current_->fibers_[n].get() != current_->running_) ++n;
  return n;
}

// The fiber to run next; the main one if all have ended or there was a failure.
scheduler::fiber* scheduler::pick() {
  if (!failure_.empty()) return main_.get();
  std::vector<fiber*> ready;
  bool all_ended = true;
  for (auto& f : fibers_) {
    all_ended &= f->ended;
    if (!f->ended && (!f->asleep_on || (f->may_time_out && random_() % 8 == 0))) ready.push_back(f.get());
  }
  if (ready.empty()) {
    for (auto& f : fibers_)
      if (!f->ended && f->may_time_out) ready.push_back(f.get());
  }
  if (ready.empty()) {
    if (!all_ended) fail("all fibers are asleep: a wake-up was lost");
    return main_.get();
  }
  fiber* f = ready[random_() % ready.size()];
  f->asleep_on = nullptr;
  return f;
}

void scheduler::switch_to(fiber* next) {
  fiber* before = running_;
  if (before == next) return;
  running_ = next;
#ifdef LCI_MODEL_TSAN
  __tsan_switch_to_fiber(next->tsan, 0);
#endif
  swapcontext(&before->context, &next->context);
}

void scheduler::fail(const std::string& what) {
  if (failure_.empty()) failure_ = what;
}

void scheduler::step() {
  scheduler* s = current_;
  if (!s) return;
  if (++s->steps_ > step_limit) s->fail("no end after " + std::to_string(step_limit) + " steps");
  if (!s->failure_.empty() || s->random_() % s->switch_one_in_ == 0) s->switch_to(s->pick());
}

void scheduler::check(bool ok, const char* what) {
  scheduler* s = current_;
  if (ok || !s) return;
  s->fail(what);
  s->switch_to(s->pick());  // abandons the fiber
}

void scheduler::sleep(const void* word, uint32_t expected, bool may_time_out) {
  step();
  uint32_t value;
  std::memcpy(&value, word, sizeof value);
  if (value != expected) return;
  fiber* self = current_->running_;
  self->asleep_on = word;
  self->may_time_out = may_time_out;
  current_->switch_to(current_->pick());
}

void scheduler::wake(const void* word, int n) {
  step();
  // Begin at a random fiber, so that not always the first sleeper is woken.
  auto& all = current_->fibers_;
  const size_t first = all.empty() ? 0 : current_->random_() % all.size();
  for (size_t i = 0; i < all.size() && n > 0; ++i) {
    fiber& f = *all[(first + i) % all.size()];
    if (f.asleep_on != word) continue;
    f.asleep_on = nullptr;
    --n;
  }
}

}  // namespace lci_model
