#include "network/ofi/memory.hpp"

#include <sys/resource.h>

#include <string>

#include "network/common/memory_keys.hpp"

namespace lci::network::ofi {

namespace {

constexpr uint64_t for_peers = FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr uint64_t for_sending = FI_SEND | FI_WRITE | FI_REMOTE_READ;
constexpr uint64_t for_all = for_sending | FI_RECV | FI_READ | for_peers;

std::string remedy_of(int error) {
  if (error != FI_ENOMEM && error != FI_EPERM) return "";
  rlimit locked{};
  if (getrlimit(RLIMIT_MEMLOCK, &locked) != 0 || locked.rlim_cur == RLIM_INFINITY) return "";
  return "; at most " + std::to_string(locked.rlim_cur) + " bytes may be locked: raise `ulimit -l`";
}

}  // namespace

fid_mr* registrar::open(void* base, size_t size, uint64_t access, uint64_t key, int& error) {
  fid_mr* mr = nullptr;
  error = -fi_mr_reg(&domain_, base, size, access, 0, key, 0, &mr, nullptr);
  if (error != 0) return nullptr;
  if (!provider_.needs(FI_MR_ENDPOINT)) return mr;
  error = -fi_mr_bind(mr, &endpoint_.fid, 0);
  if (error == 0) error = -fi_mr_enable(mr);
  if (error == 0) return mr;
  close_object(mr->fid);
  return nullptr;
}

registration registrar::add(void* base, size_t size) {
  const bool virtual_addresses = provider_.needs(FI_MR_VIRT_ADDR);
  const bool own_keys = !provider_.needs(FI_MR_PROV_KEY);
  auto begin = reinterpret_cast<uintptr_t>(base);
  const uintptr_t end = begin + size;
  if (!virtual_addresses) begin = begin >> page_bits << page_bits;
  const uint64_t page = virtual_addresses ? 0 : begin >> page_bits;

  int error = 0;
  uint64_t key = 0;
  const auto open_as = [&](uint64_t access) {
    fid_mr* made = nullptr;
    int tries = 0;
    do {
      key = next_memory_key() & ((uint64_t{1} << key_bits) - 1);
      made = open(reinterpret_cast<void*>(begin), end - begin, access, key, error);
    } while (made == nullptr && error == FI_ENOKEY && ++tries < 1000);  // after 2^28 registrations keys are reused
    return made;
  };
  fid_mr* const mr = open_memory(for_all, for_sending, open_as, [&] { return error == FI_EFAULT; });
  if (mr == nullptr)
    throw resource_error("ofi: " + provider_.name() + " can't register " + std::to_string(size) +
                         " bytes: fi_mr_reg: " + error_text(error) + " (" + std::to_string(error) + ")" +
                         remedy_of(error));
  if (!own_keys) key = fi_mr_key(mr);
  registration reg;
  reg.handle = mr;
  if (provider_.needs(FI_MR_LOCAL)) reg.lkey = reinterpret_cast<uint64_t>(fi_mr_desc(mr));
  reg.rkey = rkey_of(page << key_bits | key);
  return reg;
}

void registrar::remove(const registration& reg) { close_object(static_cast<fid_mr*>(reg.handle)->fid); }

}  // namespace lci::network::ofi
