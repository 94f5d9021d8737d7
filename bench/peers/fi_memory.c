/* Heap memory of a libfabric process that has exchanged a message with each of N - 1 others, over tcp;ofi_rxm with the
 * queue sizes of LCI: the memory cost of the provider without LCI. The first process prints it in bytes.
 *
 *   fi_memory N */
#include <malloc.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most = 64, sends = 64, receives = 256, size = 64 };

static struct shared {
  volatile int named[most], met[most], left;
  char name[most][64];
} * all;

static void check(long result, const char* what) {
  if (result == 0) return;
  fprintf(stderr, "fi_memory: %s: %s\n", what, fi_strerror((int)-result));
  exit(1);
}

static void wait_for(volatile int* flags, int n) {
  for (int i = 0; i < n; ++i)
    while (!flags[i]) sched_yield();
}

static void run(int me, int n) {
  struct fi_info *hints = fi_allocinfo(), *info;
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
  hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
  check(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info), "fi_getinfo");
  info->tx_attr->size = sends;
  info->rx_attr->size = receives;
  struct fid_fabric* fabric;
  struct fid_domain* domain;
  struct fid_cq* queue;
  struct fid_av* peers;
  struct fid_ep* endpoint;
  check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
  check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
  struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_DATA, .size = sends + receives, .wait_obj = FI_WAIT_FD};
  check(fi_cq_open(domain, &cq, &queue, NULL), "fi_cq_open");
  struct fi_av_attr av = {.type = FI_AV_TABLE, .count = (size_t)n};
  check(fi_av_open(domain, &av, &peers, NULL), "fi_av_open");
  check(fi_endpoint(domain, info, &endpoint, NULL), "fi_endpoint");
  check(fi_ep_bind(endpoint, &peers->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &queue->fid, FI_RECV), "fi_ep_bind");
  check(fi_enable(endpoint), "fi_enable");
  size_t length = sizeof all->name[me];
  check(fi_getname(&endpoint->fid, all->name[me], &length), "fi_getname");
  all->named[me] = 1;
  wait_for(all->named, n);

  fi_addr_t address[most];
  for (int i = 0; i < n; ++i) fi_av_insert(peers, all->name[i], 1, &address[i], 0, NULL);
  static char buffer[most][size];
  static struct fi_context2 context[most];
  for (int i = 0; i < n - 1; ++i)
    check(fi_recv(endpoint, buffer[i], size, NULL, FI_ADDR_UNSPEC, &context[i]), "fi_recv");
  int got = 0, to = 0;
  while (got < n - 1 || to < n) {
    if (to == me) ++to;
    if (to < n && fi_inject(endpoint, &me, sizeof me, address[to]) == 0) ++to;
    struct fi_cq_data_entry entry;
    if (fi_cq_read(queue, &entry, 1) == 1) ++got;
  }
  all->met[me] = 1;
  for (int i = 0; i < n; ++i)
    while (!all->met[i]) {
      struct fi_cq_data_entry entry;
      (void)!fi_cq_read(queue, &entry, 1);
    }
  const struct mallinfo2 heap = mallinfo2();
  if (me == 0) printf("%zu\n", heap.uordblks + heap.hblkhd);
  fflush(stdout);
  _exit(0);
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 2;
  if (n < 2 || n > most) return fprintf(stderr, "fi_memory N: 2..%d processes\n", most), 2;
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < n; ++i)
    if (fork() == 0) run(i, n);
  int status, worst = 0;
  while (wait(&status) > 0) worst |= status;
  return worst != 0;
}
