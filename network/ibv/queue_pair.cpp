#include "network/ibv/queue_pair.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "network/fabric.hpp"

namespace lci::network::ibv {

namespace {

// A packet that is not acknowledged is retransmitted after 4.096 us * 2^18 = 1.07 s (cards may take up to four times
// that), 7 times: a dead peer is detected after some 8 seconds. With 268 ms Soft-RoCE in an emulated guest
// retransmitted what was only slow, thousands of operations under way, and its queue pair failed now and then.
constexpr uint8_t ack_timeout = 18;
constexpr uint8_t ack_retries = 7;
// If a live peer has no receive buffer, retry every 0.12 ms without limit, as it may be computing.
constexpr uint8_t buffer_timer = 7;
constexpr uint8_t for_ever = 7;
constexpr uint8_t hops = 64;

void modify(ibv_qp& pair, ibv_qp_attr& attr, ibv_qp_state to, int mask, const std::string& what,
            const std::string& remedy) {
  attr.qp_state = to;
  if (const int error = library::get().modify_qp(&pair, &attr, mask | IBV_QP_STATE); error != 0)
    refused("ibv_modify_qp " + what, error, remedy);
}

}  // namespace

owned<ibv_qp> pair_maker::make(ibv_pd& domain) {
  for (;; inline_size_ /= 2) {
    ibv_qp_init_attr init{};
    init.send_cq = &completions_;
    init.recv_cq = &completions_;
    init.srq = &receives_;
    init.cap.max_send_wr = sends_;
    init.cap.max_send_sge = max_segments;
    init.cap.max_inline_data = inline_size_;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 0;
    owned<ibv_qp> pair(library::get().create_qp(&domain, &init));
    if (pair != nullptr) {
      inline_size_ = std::min(inline_size_, init.cap.max_inline_data);
      return pair;
    }
    if (errno != EINVAL || inline_size_ == 0)
      refused("ibv_create_qp with " + std::to_string(sends_) + " sends", errno,
              remedy_of(errno) + "; LCI_ATTR_NET_MAX_SENDS makes it smaller");
  }
}

void connect_pair(ibv_qp& pair, const adapter& card, const address& mine, const remote_end& other, int rank) {
  const std::string to = "to rank " + std::to_string(rank);
  ibv_qp_attr attr{};
  attr.port_num = card.port();
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  modify(pair, attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, to, "");

  attr = {};
  attr.path_mtu = static_cast<ibv_mtu>(std::min(mine.mtu, other.device.mtu));
  attr.dest_qp_num = other.pair;
  attr.rq_psn = other.device.first_packet;
  attr.max_dest_rd_atomic = std::min(mine.reads_served, other.device.reads_made);
  attr.min_rnr_timer = buffer_timer;
  attr.ah_attr.dlid = other.device.lid;
  attr.ah_attr.port_num = card.port();
  std::string remedy;
  if (mine.has_gid != 0) {
    attr.ah_attr.is_global = 1;
    std::memcpy(attr.ah_attr.grh.dgid.raw, other.device.gid, sizeof other.device.gid);
    attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(card.gid().index);
    attr.ah_attr.grh.hop_limit = hops;
    remedy = "; from GID " + std::to_string(card.gid().index) +
             " there is no route to its GID: LCI_ATTR_IBV_GID_IDX chooses another";
  }
  modify(
      pair, attr, IBV_QPS_RTR,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
      to, remedy);

  attr = {};
  attr.sq_psn = mine.first_packet;
  attr.max_rd_atomic = std::min(mine.reads_made, other.device.reads_served);
  attr.timeout = ack_timeout;
  attr.retry_cnt = ack_retries;
  attr.rnr_retry = for_ever;
  modify(pair, attr, IBV_QPS_RTS,
         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY, to, "");
}

void give_up_pair(ibv_qp& pair) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  // If this fails, the card itself has failed, which its events report.
  (void)library::get().modify_qp(&pair, &attr, IBV_QP_STATE);
}

}  // namespace lci::network::ibv
