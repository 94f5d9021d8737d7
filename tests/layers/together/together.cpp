// LCI v2, LCI v1.7, ARMCI, CCS, Mercury and MPI in one process. They are initialized and finalized in several orders.
// Each first has a thread that sends and checks concurrently with the others; then one thread uses them in turn. Checks
// that no data is lost, that finalized systems leave no resources, and that an idle process uses no processor time.
//
//   together ROUNDS BEGIN/END...     systems by letter: L, V (v1.7), A, C, H (Mercury), M
//
// MPI can be initialized only once, so M may occur in one BEGIN, and in the END of the same or a later cycle.
#include <dirent.h>
#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>

#include "tests/layers/together/participant.hpp"

using namespace together;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int entries(const char* directory) {
  DIR* const d = opendir(directory);
  REQUIRE(d != nullptr);
  int n = 0;
  while (const dirent* e = readdir(d)) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

double resident_mib() {
  std::FILE* const f = std::fopen("/proc/self/statm", "r");
  REQUIRE(f != nullptr);
  long all = 0, resident = 0;
  REQUIRE(std::fscanf(f, "%ld %ld", &all, &resident) == 2);
  std::fclose(f);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

struct possessions {
  int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  double mib = resident_mib();
};

constexpr double idle_seconds = 0.5, most_idle = 0.05;  // the latter: fraction of a processor
constexpr double most_growth = 8;                       // MiB per cycle, after the first two

class program {
 public:
  program(int rounds, bool with_mpi) : rounds_(rounds) {
    systems_['L'] = make_core();
    systems_['V'] = make_v1();
    systems_['A'] = make_armci();
    systems_['C'] = make_ccs();
    systems_['H'] = make_mercury();
    (void)with_mpi;
#ifndef TOGETHER_WITHOUT_MPI
    if (with_mpi) systems_['M'] = make_mpi();
#endif
  }

  void begin(const std::string& order) {
    const double begun = now(), had = resident_mib();
    for (const char letter : order) {
      participant& s = of(letter);
      const double t = now(), mib = resident_mib();
      s.begin();
      report(s.name(), now() - t, resident_mib() - mib);
      running_ += letter;
    }
    report("all of these", now() - begun, resident_mib() - had);
    for (const char letter : running_) REQUIRE(of(letter).rank == of(running_[0]).rank);
  }

  void end(const std::string& order) {
    for (const char letter : order) {
      of(letter).end();
      REQUIRE(running_.find(letter) != std::string::npos);
      running_.erase(running_.find(letter), 1);
    }
  }

  void work_at_once() {
    std::vector<std::thread> threads;
    for (const char letter : running_) threads.emplace_back([this, letter] { of(letter).work(rounds_); });
    for (std::thread& t : threads) t.join();
  }

  void work_in_turn() {
    for (int repeated = 0; repeated < 3; ++repeated)
      for (const char letter : running_) of(letter).work(3);
  }

  void be_idle() {
    // A virtual machine charges a process for time in which the host took its processor. So a measurement that exceeds
    // the limit is repeated.
    double share = 1;
    for (int i = 0; i < 3 && share > most_idle; ++i) {
      const double before = processor_seconds(), begun = now();
      std::this_thread::sleep_for(std::chrono::duration<double>(idle_seconds));
      share = (processor_seconds() - before) / (now() - begun);
      std::printf("idle with %zu systems: %.1f %% of a processor\n", running_.size(), 100 * share);
    }
    if (checks_costs()) REQUIRE(share <= most_idle);
  }

  /// Not in builds with a sanitizer, which use more memory and time.
  static bool checks_costs() { return std::getenv("TOGETHER_ONLY_RIGHT") == nullptr; }

 private:
  participant& of(char letter) {
    const auto found = systems_.find(letter);
    REQUIRE(found != systems_.end());
    return *found->second;
  }
  static void report(const char* name, double seconds, double mib) {
    if (std::getenv("TOGETHER_COSTS") != nullptr)
      std::printf("%-12s starts in %6.2f ms, adds %6.2f MiB\n", name, 1e3 * seconds, mib);
  }

  std::map<char, std::unique_ptr<participant>> systems_;
  std::string running_;
  const int rounds_;
};

}  // namespace

int main(int argc, char** argv) {
  REQUIRE(argc > 2);
  bool with_mpi = false;
  for (int i = 2; i < argc; ++i) with_mpi |= std::strchr(argv[i], 'M') != nullptr;
  program p(std::atoi(argv[1]), with_mpi);
  std::vector<possessions> after;
  for (int i = 2; i < argc; ++i) {
    const std::string orders = argv[i];
    const size_t slash = orders.find('/');
    REQUIRE(slash != std::string::npos);
    p.begin(orders.substr(0, slash));
    p.work_at_once();
    p.be_idle();
    p.work_in_turn();
    p.end(orders.substr(slash + 1));
    after.emplace_back();
    std::printf("after %s: %d files, %d threads, %.1f MiB\n", argv[i], after.back().files, after.back().threads,
                after.back().mib);
  }
  // Libraries allocate some memory once, in the first cycle; MPI does so in the cycle in which it is initialized.
  for (size_t i = 2; i < after.size() && !with_mpi; ++i) {
    REQUIRE(after[i].files == after[1].files);
    REQUIRE(after[i].threads == after[1].threads);
    if (program::checks_costs()) REQUIRE(after[i].mib <= after[1].mib + most_growth);
  }
  std::printf("cases: 1 passed, 0 failed, 0 skipped\n");
  return 0;
}
