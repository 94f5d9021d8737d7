#include "lib/base/munge.hpp"

#ifdef LCI_WITH_MUNGE
#include <dlfcn.h>
#include <munge.h>

#include <cstdlib>
#include <memory>
#endif

namespace lci {

#ifdef LCI_WITH_MUNGE

namespace {

struct munge_library {
  decltype(&::munge_encode) encode = nullptr;
  decltype(&::munge_decode) decode = nullptr;
  decltype(&::munge_ctx_create) create = nullptr;
  decltype(&::munge_ctx_destroy) destroy = nullptr;
  decltype(&::munge_ctx_set) set = nullptr;
  std::string missing;  // the reason if the functions are null; else empty

  munge_library() {
    void* const handle = dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      missing = std::string(dlerror()) + "; install it (Debian: libmunge2)";
      return;
    }
    encode = reinterpret_cast<decltype(encode)>(dlsym(handle, "munge_encode"));
    decode = reinterpret_cast<decltype(decode)>(dlsym(handle, "munge_decode"));
    create = reinterpret_cast<decltype(create)>(dlsym(handle, "munge_ctx_create"));
    destroy = reinterpret_cast<decltype(destroy)>(dlsym(handle, "munge_ctx_destroy"));
    set = reinterpret_cast<decltype(set)>(dlsym(handle, "munge_ctx_set"));
    if (encode == nullptr || decode == nullptr || create == nullptr || destroy == nullptr || set == nullptr)
      missing = "libmunge.so.2 lacks functions";
  }
};

/// Loads the library at the first call, so that programs without munge pay nothing.
const munge_library& munge() {
  static const munge_library loaded;
  return loaded;
}

struct free_memory {
  void operator()(void* p) const { std::free(p); }
};

/// Returns null if there is no memory.
std::unique_ptr<munge_ctx, void (*)(munge_ctx_t)> new_context(const std::string& socket) {
  std::unique_ptr<munge_ctx, void (*)(munge_ctx_t)> made(munge().create(), munge().destroy);
  if (made != nullptr && !socket.empty() && munge().set(made.get(), MUNGE_OPT_SOCKET, socket.c_str()) != EMUNGE_SUCCESS)
    made.reset();
  return made;
}

}  // namespace

std::string why_no_munge() { return munge().missing; }

std::string munge_credential(const std::string& socket, const std::string& content) {
  const auto context = new_context(socket);
  if (context == nullptr) return {};
  char* text = nullptr;
  const munge_err_t result = munge().encode(&text, context.get(), content.data(), static_cast<int>(content.size()));
  const std::unique_ptr<char, free_memory> owned(text);
  return result == EMUNGE_SUCCESS && text != nullptr ? text : std::string();
}

munge_found munge_content(const std::string& socket, const char* credential) {
  munge_found found;
  const auto context = new_context(socket);
  if (context == nullptr) return found;
  void* content = nullptr;
  int size = 0;
  // libmunge returns a payload with some errors, too; it must be freed.
  const munge_err_t result = munge().decode(credential, context.get(), &content, &size, &found.user, &found.group);
  const std::unique_ptr<void, free_memory> owned(content);
  const bool answered = result != EMUNGE_SOCKET && result != EMUNGE_TIMEOUT && result != EMUNGE_NO_MEMORY;
  if (answered) found.is = munge_found::result::invalid;
  if (result != EMUNGE_SUCCESS || size < 0) return found;
  found.is = munge_found::result::valid;
  if (size > 0) found.text.assign(static_cast<const char*>(content), static_cast<size_t>(size));
  return found;
}

#else

std::string why_no_munge() {
  return "this LCI was built without munge's header; install it (Debian: libmunge-dev) and build again";
}

std::string munge_credential(const std::string&, const std::string&) { return {}; }

munge_found munge_content(const std::string&, const char*) { return {}; }

#endif

}  // namespace lci
