// The limit of a network with libibverbs: two processes of this machine send each other 8 bytes inline, over one queue
// pair each, with a shared receive queue as in LCI, and nothing else.
//
// floor_verbs [DEVICE [ROUND_TRIPS]]: prints half a round trip in microseconds, the median of 7 rounds.
// Compare with `LCI_ATTR_BACKEND=ibv lcirun -n 2 lci_perf am latency`.
#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int rounds = 7;
constexpr uint32_t n_receives = 256, n_sends = 64, signal_every = 16;
constexpr size_t size = 8, buffer_size = 64;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

/// What each process publishes for the other, in shared memory.
struct shared_state {
  // 1: the queue pair has a number; 2: it can receive; 3, of the measuring process: it has all answers
  std::atomic<int> stage{0};
  uint32_t number = 0;
  ibv_gid gid{};
  uint16_t lid = 0;
};

void await(const std::atomic<int>& stage, int value) {
  while (stage.load(std::memory_order_acquire) < value) sched_yield();
}

/// One of the two processes: its queue pair, and the resources that this needs.
class endpoint {
 public:
  explicit endpoint(const std::string& device) {
    open(device);
    domain_ = ibv_alloc_pd(context_);
    if (domain_ == nullptr) fail("floor_verbs: protection domain");
    completions_ = ibv_create_cq(context_, n_receives + n_sends, nullptr, nullptr, 0);
    ibv_srq_init_attr receives{};
    receives.attr = {n_receives, 1, 0};
    receives_ = ibv_create_srq(domain_, &receives);
    memory_ = ibv_reg_mr(domain_, buffers_.data(), buffers_.size(), IBV_ACCESS_LOCAL_WRITE);
    if (memory_ == nullptr || receives_ == nullptr || completions_ == nullptr) fail("floor_verbs: queues");
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = completions_;
    init.srq = receives_;
    init.cap = {n_sends, 0, 1, 0, 64};
    init.qp_type = IBV_QPT_RC;
    pair_ = ibv_create_qp(domain_, &init);
    if (pair_ == nullptr) fail("floor_verbs: ibv_create_qp");
    for (uint32_t i = 0; i < n_receives; ++i) receive(i);
  }

  void connect(shared_state& mine, shared_state& other) {
    mine.number = pair_->qp_num;
    mine.gid = gid_;
    mine.lid = port_.lid;
    mine.stage.store(1, std::memory_order_release);
    await(other.stage, 1);
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    int error = ibv_modify_qp(pair_, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = {};
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = port_.active_mtu;
    attr.dest_qp_num = other.number;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 7;
    attr.ah_attr.dlid = other.lid;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.is_global = gid_index_ >= 0;
    attr.ah_attr.grh.dgid = other.gid;
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(std::max(gid_index_, 0));
    attr.ah_attr.grh.hop_limit = 64;
    if (error == 0)
      error = ibv_modify_qp(pair_, &attr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = {};
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 16;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    if (error == 0)
      error = ibv_modify_qp(pair_, &attr,
                            IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                IBV_QP_RNR_RETRY);
    if (error != 0) errno = error, fail("floor_verbs: ibv_modify_qp");
    mine.stage.store(2, std::memory_order_release);
    await(other.stage, 2);
  }

  void send() {
    ibv_sge piece{reinterpret_cast<uintptr_t>(&sent_), size, 0};
    ibv_send_wr work{}, *bad = nullptr;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_INLINE;
    if (++sent_ % signal_every == 0) work.send_flags |= IBV_SEND_SIGNALED;
    if (ibv_post_send(pair_, &work, &bad) != 0) fail("floor_verbs: ibv_post_send");
  }

  void await_message() {
    std::array<ibv_wc, 16> entries;
    for (bool arrived = false; !arrived;) {
      const int n = ibv_poll_cq(completions_, static_cast<int>(entries.size()), entries.data());
      if (n == 0) sched_yield();
      for (int i = 0; i < n; ++i) {
        const ibv_wc& wc = entries[static_cast<size_t>(i)];
        if (wc.status != IBV_WC_SUCCESS) {
          std::fprintf(stderr, "floor_verbs: %s\n", ibv_wc_status_str(wc.status));
          std::exit(1);
        }
        if (wc.opcode != IBV_WC_RECV) continue;
        arrived = true;
        receive(static_cast<uint32_t>(wc.wr_id));
      }
    }
  }

 private:
  void open(const std::string& wanted) {
    int n = 0;
    ibv_device** const list = ibv_get_device_list(&n);
    for (int i = 0; i < n && context_ == nullptr; ++i)
      if (wanted.empty() || wanted == ibv_get_device_name(list[i])) context_ = ibv_open_device(list[i]);
    if (context_ == nullptr) fail("floor_verbs: no such RDMA device");
    if (ibv_query_port(context_, 1, &port_) != 0) fail("floor_verbs: ibv_query_port");
    if (port_.link_layer != IBV_LINK_LAYER_ETHERNET) return;
    for (int i = 0; i < port_.gid_tbl_len && gid_index_ < 0; ++i) {
      ibv_gid_entry entry{};
      if (ibv_query_gid_ex(context_, 1, static_cast<uint32_t>(i), &entry, 0) != 0) continue;
      if (entry.gid_type != IBV_GID_TYPE_ROCE_V2 || entry.gid.raw[0] == 0xfe) continue;
      gid_ = entry.gid;
      gid_index_ = i;
    }
  }

  void receive(uint32_t i) {
    ibv_sge piece{reinterpret_cast<uintptr_t>(&buffers_[i * buffer_size]), buffer_size, memory_->lkey};
    ibv_recv_wr work{}, *bad = nullptr;
    work.wr_id = i;
    work.sg_list = &piece;
    work.num_sge = 1;
    if (ibv_post_srq_recv(receives_, &work, &bad) != 0) fail("floor_verbs: ibv_post_srq_recv");
  }

  ibv_context* context_ = nullptr;  // freed when the process ends
  ibv_port_attr port_{};
  ibv_gid gid_{};
  int gid_index_ = -1;
  ibv_pd* domain_ = nullptr;
  ibv_cq* completions_ = nullptr;
  ibv_srq* receives_ = nullptr;
  ibv_mr* memory_ = nullptr;
  ibv_qp* pair_ = nullptr;
  uint64_t sent_ = 0;
  std::array<char, n_receives * buffer_size> buffers_{};
};

void bind(int n) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && n-- == 0) CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? std::max(std::atoi(argv[2]), 1) : 10'000;
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("floor_verbs: mmap");
  shared_state* const states = new (shared) shared_state[2];
  const pid_t pid = fork();  // before any use of libibverbs, whose objects can't be shared
  if (pid < 0) fail("floor_verbs: fork");
  const int me = pid == 0;
  bind(me);
  static endpoint mine(device);
  mine.connect(states[me], states[1 - me]);
  if (pid == 0) {
    for (int i = 0; i < rounds * count; ++i) mine.await_message(), mine.send();
    await(states[0].stage, 3);  // the last answer may still be in flight
    return 0;
  }
  std::array<double, rounds> microseconds;
  for (double& time : microseconds) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) mine.send(), mine.await_message();
    const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - start;
    time = all.count() / count / 2;
  }
  states[0].stage.store(3, std::memory_order_release);
  std::sort(microseconds.begin(), microseconds.end());
  std::printf("%.3f us (from %.3f to %.3f)\n", microseconds[rounds / 2], microseconds[0], microseconds[rounds - 1]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0 ? 0 : 1;
}
