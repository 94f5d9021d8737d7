#include "network/ofi/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace lci::network::ofi {

namespace {

template <class F>
void find(void* handle, const char* name, F& function, std::string& missing) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  if (function == nullptr) missing = std::string("libfabric.so.1 has no ") + name;
}

library load() {
  library l;
  // Its psm providers would take over the program's fatal signals, to print the stack.
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
  void* const handle = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);  // for good
  if (handle == nullptr) {
    l.missing = std::string(dlerror()) + "; install libfabric (Debian: libfabric1)";
    return l;
  }
  find(handle, "fi_getinfo", l.getinfo, l.missing);
  find(handle, "fi_freeinfo", l.freeinfo, l.missing);
  find(handle, "fi_dupinfo", l.dupinfo, l.missing);
  find(handle, "fi_fabric", l.fabric, l.missing);
  find(handle, "fi_strerror", l.strerror, l.missing);
  return l;
}

}  // namespace

const library& library::get() {
  static const library loaded = load();
  return loaded;
}

}  // namespace lci::network::ofi
