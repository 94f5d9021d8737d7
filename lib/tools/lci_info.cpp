// lci_info: shows what this build of LCI can use here, and the value and origin of every attribute. It starts no
// runtime, so it can also show why one would not start.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "lci.hpp"
#include "lci/options.hpp"
#include "lib/base/copy_vectors.hpp"
#include "lib/base/mapping_watch.hpp"
#include "lib/bootstrap/bootstrap.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/tools/json.hpp"
#include "network/fabric.hpp"

namespace lci::tools {
namespace {

/// A fabric or a bootstrap: its name, and whether it can be used here.
struct facility {
  std::string name;
  bool usable = false;
  bool in_use = false;  // a runtime started now would use it
  std::string note;     // why it isn't usable, or when it is used
};

std::string value_of(const std::vector<option_info_t>& options, const std::string& name) {
  for (const option_info_t& o : options) {
    if (o.name == name) return o.value;
  }
  return {};
}

std::vector<facility> list_fabrics(const std::string& wanted, const std::string& provider) {
  const bool automatic = wanted == "auto";
  net_context_attr_t attr;
  attr.ofi_provider_name = provider;
  std::vector<facility> all;
  size_t best = SIZE_MAX, last_choice = SIZE_MAX;  // between hosts
  for (const network::fabric& f : network::fabrics()) {
    const network::usability here = f.look(attr);
    facility entry;
    entry.name = f.name;
    entry.note = here.why_not;
    entry.usable = entry.note.empty();
    const bool of_host = f.id == attr_backend_t::shm, of_tests = f.id == attr_backend_t::sim;
    entry.in_use = entry.usable && (automatic ? of_host : wanted == f.name);
    if (entry.usable && of_tests) entry.note = "for tests: only if LCI_ATTR_BACKEND asks for it";
    if (entry.usable && automatic && of_host) entry.note = "within a host";
    if (entry.usable && automatic && here.last_choice)
      entry.note = "if nothing else can be used: it leads over TCP only";
    if (entry.usable && !of_host && !of_tests) {
      size_t& found = here.last_choice ? last_choice : best;
      found = std::min(found, all.size());
    }
    all.push_back(entry);
  }
  if (best == SIZE_MAX) best = last_choice;
  if (automatic && best != SIZE_MAX) all[best].note = "in use between hosts, if there are several";
  for (const attr_backend_t id : {attr_backend_t::ofi, attr_backend_t::ibv, attr_backend_t::ucx}) {
    const std::string name = to_string(id);
    const bool built = std::any_of(all.begin(), all.end(), [&](const facility& f) { return f.name == name; });
    if (!built) all.push_back({name, false, false, "not part of this build"});
  }
  return all;
}

/// The bootstrap that a runtime started now would use; null if it would fail to choose one.
const network::bootstrap_kind* choose_bootstrap(const std::string& wanted) {
  const auto candidates = network::bootstraps_to_try(wanted);
  for (const network::bootstrap_kind* kind : candidates) {
    try {
      if (!wanted.empty() || kind->detected()) return kind;
    } catch (const bootstrap_error&) {
      return nullptr;  // list_bootstraps() shows the text
    }
  }
  return nullptr;
}

std::vector<facility> list_bootstraps(const std::string& wanted) {
  std::vector<facility> all;
  const network::bootstrap_kind* const chosen = choose_bootstrap(wanted);
  for (const network::bootstrap_kind* kind : network::bootstrap_kinds()) {
    facility entry;
    entry.name = kind->name;
    entry.usable = entry.in_use = kind == chosen;
    if (!wanted.empty() && kind == chosen) {
      entry.note = "LCI_ATTR_BOOTSTRAP asks for it";
    } else {
      try {
        entry.usable = kind->detected();
        // Variables of several launchers must agree, unless something says which of them count.
        if (entry.in_use && network::bootstraps_to_try({}) == network::bootstrap_kinds())
          network::check_contradictions();
        if (!entry.usable) entry.note = "the environment does not ask for it";
      } catch (const bootstrap_error& halves) {
        entry.usable = entry.in_use = false;
        entry.note = halves.what();
      }
    }
    all.push_back(entry);
  }
  return all;
}

/// Returns whether a device with `use_reg_cache` can detect changed mappings here.
facility registration_cache() {
  facility entry;
  entry.name = "userfaultfd";
  entry.usable = mapping_watch::get(entry.note) != nullptr;
  if (!entry.usable) entry.note += ": registrations are not kept unless LCI_ATTR_REG_CACHE_TRUST is set";
  return entry;
}

/// How the library can copy in large puts and gets that are repeated between the same buffers.
std::vector<facility> list_copies() {
  const bool has_vectors = vector_copy::is_usable();
  return {{"memcpy", true, false, has_vectors ? "where it is measured to be faster than avx2" : "always"},
          {"avx2", has_vectors, false, has_vectors ? "where it is measured to be faster" : "the processor has none"}};
}

void print_facilities(const char* title, const std::vector<facility>& all) {
  std::printf("\n%s\n", title);
  for (const facility& f : all) {
    const char* state = f.in_use ? "in use" : f.usable ? "usable" : "not usable";
    std::printf("  %-11s %-11s%s\n", f.name.c_str(), state, f.note.c_str());
  }
}

void print_options(const std::vector<option_info_t>& options, bool verbose) {
  size_t width = 0;
  for (const option_info_t& o : options) width = std::max(width, std::string(o.name).size());
  std::printf("\nattributes (LCI_ATTR_<NAME> in the environment sets one)\n");
  std::string resource;
  for (const option_info_t& o : options) {
    if (o.resource != resource) {
      resource = o.resource;
      std::printf("  %s\n", resource.c_str());
    }
    const std::string value = o.value;
    std::printf("    %-*s  %-12s %s\n", static_cast<int>(width), o.name, value.empty() ? "\"\"" : value.c_str(),
                o.origin);
    if (!verbose) continue;
    std::printf("        %s\n        %s, built-in value %s; accepted: %s\n", o.doc, o.type,
                json_text(o.built_in).c_str(), o.accepted);
  }
}

std::string json_of(const std::vector<facility>& all) {
  std::string out = "[";
  for (const facility& f : all) {
    out += out.size() > 1 ? ",\n  " : "\n  ";
    out += "{\"name\": ";
    out += json_text(f.name);
    out += ", \"usable\": ";
    out += f.usable ? "true" : "false";
    out += ", \"in_use\": ";
    out += f.in_use ? "true" : "false";
    out += ", \"note\": ";
    out += json_text(f.note);
    out += "}";
  }
  return out + "]";
}

std::string json_of(const std::vector<option_info_t>& options) {
  std::string out = "[";
  for (const option_info_t& o : options) {
    out += out.size() > 1 ? ",\n  " : "\n  ";
    const char* separator = "{";
    const auto add = [&](const char* key, const std::string& text) {
      out += separator;
      out += json_text(key);
      out += ": ";
      out += json_text(text);
      separator = ", ";
    };
    add("name", o.name);
    add("resource", o.resource);
    add("variable", o.variable);
    add("type", o.type);
    add("value", o.value);
    add("origin", o.origin);
    add("built_in", o.built_in);
    add("accepted", o.accepted);
    add("doc", o.doc);
    out += "}";
  }
  return out + "]";
}

int run(bool json, bool verbose) {
  const std::vector<option_info_t> options = get_options();
  const std::vector<facility> fabrics =
      list_fabrics(value_of(options, "backend"), value_of(options, "ofi_provider_name"));
  const std::vector<facility> bootstraps = list_bootstraps(value_of(options, "bootstrap"));
  const std::vector<facility> watches = {registration_cache()}, copies = list_copies();
  if (json) {
    std::printf(
        "{\"version\": %s,\n \"fabrics\": %s,\n \"bootstraps\": %s,\n \"mapping_watches\": %s,\n"
        " \"copies\": %s,\n \"attributes\": %s}\n",
        json_text(LCI_VERSION_STRING).c_str(), json_of(fabrics).c_str(), json_of(bootstraps).c_str(),
        json_of(watches).c_str(), json_of(copies).c_str(), json_of(options).c_str());
    return 0;
  }
  std::printf("LCI %s\n", LCI_VERSION_STRING);
  print_facilities("fabrics", fabrics);
  print_facilities("bootstraps", bootstraps);
  print_facilities("watches of mappings, for kept registrations", watches);
  print_facilities("copies of large puts and gets between the same buffers", copies);
  print_options(options, verbose);
  return 0;
}

/// Flushes standard output. Returns `code`; if the output could not be written, prints why and returns 1.
int after_writing(int code) {
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "lci_info: can't write to standard output: %s\n", std::strerror(errno));
  return 1;
}

}  // namespace
}  // namespace lci::tools

int main(int argc, char** argv) {
  CLI::App app(
      "Shows what this LCI can do here: fabrics and why others are not usable, ways to start, and "
      "the value of each attribute with its origin.\nExit code: 0; 1 if a variable of the "
      "environment is not understood or the output can't be written; 2 for a bad command line.",
      "lci_info");
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("lci_info: ") + e.what() + "\nRun with --help for more information.\n";
  });
  bool json = false, verbose = false;
  app.add_flag("--json", json, "everything as one JSON object");
  app.add_flag("-v,--verbose", verbose, "also what each attribute means and accepts");
  app.set_version_flag("--version", std::string(LCI_VERSION_STRING));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? lci::tools::after_writing(0) : 2;
  }
  try {
    return lci::tools::after_writing(lci::tools::run(json, verbose));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lci_info: %s\n", e.what());
    return 1;
  }
}
