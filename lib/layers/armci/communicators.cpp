// Finds the plug-in that makes MPI's communicators for groups: beside this library, one for each MPI.
#include <dlfcn.h>

#include <atomic>
#include <string>

#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/groups.hpp"

namespace armci_layer {

namespace {

struct implementation {
  const char* library;
  const char* plugin;
};
constexpr implementation known[] = {{"libmpich.so.12", "libarmci-mpi-mpich.so"},
                                    {"libmpi.so.40", "libarmci-mpi-openmpi.so"}};

bool is_initialised(void* library) {
  const auto ask = [&](const char* function) {
    const auto f = reinterpret_cast<int (*)(int*)>(dlsym(library, function));
    int flag = 0;
    return f != nullptr && f(&flag) == 0 && flag != 0;
  };
  return ask("MPI_Initialized") && !ask("MPI_Finalized");
}

/// The folder of this library, with a trailing slash.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_communicators), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

}  // namespace

const communicators* find_communicators() {
  for (const implementation& one : known) {
    void* const mpi = dlopen(one.library, RTLD_LAZY | RTLD_NOLOAD);
    if (mpi == nullptr) continue;
    // The handle of an MPI that is used is not closed, as the plug-in needs it.
    if (!is_initialised(mpi)) {
      dlclose(mpi);
      continue;
    }
    void* plugin = dlopen((own_folder() + one.plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) plugin = dlopen(one.plugin, RTLD_NOW | RTLD_LOCAL);
    const void* functions = plugin == nullptr ? nullptr : dlsym(plugin, "armci_communicators");
    if (functions != nullptr) return static_cast<const communicators*>(functions);
    const char* const reason = dlerror();
    static std::atomic<bool> said{false};
    if (said.exchange(true, std::memory_order_relaxed)) return nullptr;
    say("groups", (std::string("groups have no communicators, since ") + one.plugin + " can't be loaded (" +
                   (reason == nullptr ? "" : reason) + "): build LCI where that MPI's headers are")
                      .c_str());
  }
  return nullptr;
}

}  // namespace armci_layer
