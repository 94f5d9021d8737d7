// Memory that one process allocates alone and others attach to.
#include "armci/parmci.h"
#include "lib/layers/armci/api.hpp"

using namespace armci_layer;

namespace {

armci_meminfo_t& checked(const char* function, armci_meminfo_t* info) {
  if (info == nullptr) misuse(function, "meminfo is NULL, but must be an address");
  return *info;
}

/// A record of ARMCI_Memget, which the program may have sent around.
context& check_record(const char* function, const armci_meminfo_t& info, long offset) {
  context& c = running(function);
  check_proc(function, c, info.cpid);
  if (info.armci_addr == nullptr) misuse(function, "meminfo was not filled by ARMCI_Memget, or its memory was freed");
  if (offset < 0 || static_cast<size_t>(offset) > info.size)
    misuse(function, "offset = " + std::to_string(offset) + ", but must be 0.." + std::to_string(info.size) +
                         ", the size of the memory");
  return c;
}

}  // namespace

extern "C" {

void PARMCI_Memget(size_t bytes, armci_meminfo_t* meminfo, int memflg) {
  or_end("ARMCI_Memget", [&] {
    context& c = running("ARMCI_Memget");
    armci_meminfo_t& info = checked("ARMCI_Memget", meminfo);
    if (bytes == 0) misuse("ARMCI_Memget", "bytes = 0, but must be positive");
    if (memflg != 0) misuse("ARMCI_Memget", "memflg = " + std::to_string(memflg) + ", but must be 0");
    info = armci_meminfo_t{};
    info.addr = info.armci_addr = static_cast<char*>(c.mem.allocate(bytes));
    info.size = bytes;
    info.cpid = c.me();
  });
}
ARMCI_TWIN(Memget);

void* PARMCI_Memat(armci_meminfo_t* meminfo, long offset) {
  return or_end("ARMCI_Memat", [&]() -> void* {
    const armci_meminfo_t& info = checked("ARMCI_Memat", meminfo);
    context& c = check_record("ARMCI_Memat", info, offset);
    char* const base = c.mem.is_near(info.cpid)
                           ? reinterpret_cast<char*>(c.mem.near_or_reach(info.cpid, info.armci_addr, info.size))
                           : info.armci_addr;
    return base + offset;
  });
}
ARMCI_TWIN(Memat);

// What a host has mapped stays mapped until its owner frees it.
void PARMCI_Memdt(armci_meminfo_t* meminfo, long offset) {
  check_record("ARMCI_Memdt", checked("ARMCI_Memdt", meminfo), offset);
}
ARMCI_TWIN(Memdt);

void PARMCI_Memctl(armci_meminfo_t* meminfo) {
  or_end("ARMCI_Memctl", [&] {
    armci_meminfo_t& info = checked("ARMCI_Memctl", meminfo);
    context& c = check_record("ARMCI_Memctl", info, 0);
    if (info.cpid != c.me()) return;
    if (!c.mem.release(info.armci_addr))
      misuse("ARMCI_Memctl", "meminfo names no memory of ARMCI_Memget, or its memory was freed");
    info.armci_addr = info.addr = nullptr;
  });
}
ARMCI_TWIN(Memctl);

}  // extern "C"
