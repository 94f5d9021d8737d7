#include "lib/bootstrap/mpi_process.hpp"

#include <dlfcn.h>

namespace lci::network {

namespace {

/// An MPI's library, and LCI's plug-in for it, which is in the same folder as LCI's library.
struct implementation {
  const char* name;
  const char* library;
  const char* plugin;
};
constexpr implementation known[] = {
    {"MPICH", "libmpich.so.12", "liblci-mpi-mpich.so"},
    {"Open MPI", "libmpi.so.40", "liblci-mpi-openmpi.so"},
};

/// The MPI loaded in this process, with a handle that keeps it loaded; nullptr if there is none.
const implementation* find_loaded(void*& handle) {
  for (const implementation& one : known) {
    handle = dlopen(one.library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) return &one;
  }
  return nullptr;
}

bool flag_of(void* handle, const char* function) {
  const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(handle, function));
  int flag = 0;
  return ask != nullptr && ask(&flag) == 0 && flag != 0;
}

/// The folder of the file that contains this code, with a trailing slash.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&find_mpi), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

mpi_plugin_function load_plugin(const implementation& one, std::string& why) {
  void* handle = dlopen((own_folder() + one.plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) handle = dlopen(one.plugin, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    why = std::string("no ") + one.plugin + " for the " + one.name + " of this process (" +
          (reason == nullptr ? "" : reason) + "); build LCI where that MPI's headers are";
    return nullptr;
  }
  const auto entry = reinterpret_cast<mpi_plugin_function>(dlsym(handle, mpi_plugin_entry));
  if (entry == nullptr) why = std::string(one.plugin) + " is of another version of LCI";
  return entry;
}

}  // namespace

mpi_life find_mpi() {
  void* handle = nullptr;
  if (find_loaded(handle) == nullptr) return mpi_life::absent;
  const mpi_life life = flag_of(handle, "MPI_Finalized")     ? mpi_life::finalized
                        : flag_of(handle, "MPI_Initialized") ? mpi_life::initialized
                                                             : mpi_life::loaded;
  dlclose(handle);
  return life;
}

bool mpi_shares_launcher() {
  const mpi_life life = find_mpi();
  return life == mpi_life::initialized || life == mpi_life::finalized;
}

bool has_mpi_plugin() {
  void* handle = nullptr;
  std::string why;
  const implementation* found = find_loaded(handle);
  return found != nullptr && load_plugin(*found, why) != nullptr;
}

std::unique_ptr<mpi_world> open_mpi_world(bool initialize, std::string& why) {
  void* handle = nullptr;
  const implementation* found = find_loaded(handle);
  if (found == nullptr) {
    why =
        "there is no MPI in this process (known are MPICH's libmpich.so.12 and Open MPI's "
        "libmpi.so.40); link the program with one, or unset LCI_ATTR_BOOTSTRAP";
    return nullptr;
  }
  // The handle is not closed: the plug-in needs the MPI to stay loaded.
  const mpi_plugin_function entry = load_plugin(*found, why);
  return entry == nullptr ? nullptr : entry(initialize, why);
}

}  // namespace lci::network
