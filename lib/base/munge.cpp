#include "lib/base/munge.hpp"

#ifdef LCI_WITH_MUNGE
#include <munge.h>

#include <cstdlib>
#include <memory>

#include "lib/base/loaded_library.hpp"
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
  std::string missing;  // the reason if a function is null; else empty

  munge_library() {
    loaded_library library({"libmunge.so.2"});
    library.find("munge_encode", encode);
    library.find("munge_decode", decode);
    library.find("munge_ctx_create", create);
    library.find("munge_ctx_destroy", destroy);
    library.find("munge_ctx_set", set);
    if (!library.missing().empty()) missing = library.missing() + "; install it (Debian: libmunge2)";
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
