// If memory does not suffice for another device, its allocation is refused before the system kills the process, and the
// other devices still work.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <lci.hpp>
#include <string>
#include <vector>

namespace {

bool good = true;

void expect(bool what, const char* text) {
  if (what) return;
  std::printf("FAILED: %s\n", text);
  good = false;
}

long resident_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  return 0;
}

bool works(lci::device_t device) {
  char out[8] = "healthy", in[8] = {};
  while (!lci::post_send_x(0, out, 8, 1, lci::COMP_NULL).device(device)().is_done()) lci::progress_x().device(device)();
  lci::comp_t sync = lci::alloc_sync();
  const lci::status_t s = lci::post_recv_x(0, in, 8, 1, sync).device(device)();
  while (!s.is_done() && !lci::sync_test(sync, nullptr)) lci::progress_x().device(device)();
  lci::free_comp(&sync);
  return std::memcmp(in, out, 8) == 0;
}

}  // namespace

int main() {
  lci::g_runtime_init();
  // A new device uses the memory that the provider writes to, and little memory of LCI.
  constexpr int fresh = 4;
  constexpr long most_kib = 12 * 1024;
  const long before = resident_kib();
  std::vector<lci::device_t> devices;
  for (int i = 0; i < fresh; ++i) devices.push_back(lci::alloc_device());
  const long each = (resident_kib() - before) / fresh;
  std::printf("a device takes %ld KiB\n", each);
  expect(each <= most_kib, "it takes more than 12 MiB");
  // A reserve of more memory than any host has.
  std::string text;
  try {
    devices.push_back(lci::alloc_device_x().memory_reserve(size_t{1} << 50)());
  } catch (const lci::resource_error& e) {
    text = e.what();
  }
  std::printf("%s\n", text.c_str());
  for (const char* part :
       {"alloc_device", "are left (", "memory_reserve = 1125899906842624", "LCI_ATTR_MEMORY_RESERVE", "free devices"})
    expect(text.find(part) != std::string::npos, part);
  devices.push_back(lci::alloc_device_x().memory_reserve(0)());  // 0: available memory is not checked
  for (lci::device_t& d : devices) {
    expect(works(d), "a device does not work");
    lci::free_device(&d);
  }
  lci::g_runtime_fina();
  return good ? 0 : 1;
}
