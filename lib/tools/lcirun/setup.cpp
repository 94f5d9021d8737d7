#include "lib/tools/lcirun/setup.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "lci/config.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/tools/lcirun/ranks_and_hosts.hpp"

namespace lci::launcher {

namespace {

constexpr int64_t most_items = 1 << 20;
constexpr double least_timeout = 0.1, most_timeout = 1e6;

void write_list(frame_writer& out, const std::vector<std::string>& list) {
  out.number(int64_t(list.size()));
  for (const std::string& each : list) out.text(each);
}

std::vector<std::string> read_list(frame_reader& in) {
  std::vector<std::string> list;
  const int count = in.number(0, most_items);
  for (int i = 0; i < count && in.good(); ++i) list.emplace_back(in.text());
  return list;
}

void write_ranks(frame_writer& out, const rank_set& set) {
  out.number(set.all).number(int64_t(set.ranks.size()));
  for (const int rank : set.ranks) out.number(rank);
}

rank_set read_ranks(frame_reader& in) {
  rank_set set;
  set.all = in.number(0, 1) != 0;
  const int count = in.number(0, most_items);
  for (int i = 0; i < count && in.good(); ++i) set.ranks.push_back(in.number(0, most_ranks));
  return set;
}

void write_options(frame_writer& out, const launch_options& options) {
  out.number(options.ranks).number(int64_t(options.parts.size()));
  for (const program_part& part : options.parts) {
    out.number(part.ranks);
    write_list(out, part.words);
    write_list(out, part.env);
  }
  out.number(int64_t(options.host_timeout * 1e3)).text(options.folder).number(int(options.bind));
  out.number(options.report_bindings).number(int(options.gdb_mode)).number(options.verbose);
  write_ranks(out, options.gdb);
  write_ranks(out, options.valgrind);
}

launch_options read_options(frame_reader& in) {
  launch_options options;
  options.ranks = in.number(1, most_ranks);
  const int parts = in.number(1, most_ranks);
  for (int i = 0; i < parts && in.good(); ++i) {
    program_part part;
    part.ranks = in.number(1, most_ranks);
    part.words = read_list(in);
    part.env = read_list(in);
    options.parts.push_back(std::move(part));
  }
  options.host_timeout = double(in.number(int64_t(least_timeout * 1e3), int64_t(most_timeout * 1e3))) / 1e3;
  options.folder = in.text();
  options.bind = binding_t(in.number(0, int(binding_t::socket)));
  options.report_bindings = in.number(0, 1) != 0;
  options.gdb_mode = gdb_mode_t(in.number(0, int(gdb_mode_t::batch)));
  options.verbose = in.number(0, 1) != 0;
  options.gdb = read_ranks(in);
  options.valgrind = read_ranks(in);
  return options;
}

bool is_assignment(const std::string& text) { return text.find('=', 1) != std::string::npos; }

/// Checks constraints between fields.
bool makes_sense(const proxy_setup& setup) {
  const auto& parts = setup.options.parts;
  return setup.share.first + setup.share.count <= setup.options.ranks &&
         std::all_of(parts.begin(), parts.end(), [](const program_part& part) {
           return !part.words.empty() && std::all_of(part.env.begin(), part.env.end(), is_assignment);
         });
}

}  // namespace

std::vector<std::string> environment_for_others() {
  static constexpr const char* own[] = {"HOME",    "HOSTNAME",      "LOGNAME",         "MAIL",
                                        "SHELL",   "SSH_AUTH_SOCK", "SSH_CLIENT",      "SSH_CONNECTION",
                                        "SSH_TTY", "USER",          "XDG_RUNTIME_DIR", "XDG_SESSION_ID",
                                        "_"};
  std::vector<std::string> list;
  for (char** each = environ; *each != nullptr; ++each) {
    const char* equals = strchr(*each, '=');
    if (equals == nullptr || equals == *each) continue;
    const std::string name(*each, size_t(equals - *each));
    if (std::find(std::begin(own), std::end(own), name) == std::end(own)) list.emplace_back(*each);
  }
  return list;
}

frame_writer write_setup(const proxy_setup& setup) {
  frame_writer out(frame_t::setup);
  out.text(LCI_VERSION_STRING).number(setup.host);
  out.text({reinterpret_cast<const char*>(setup.key.data()), setup.key.size()});
  out.number(setup.port);
  write_list(out, setup.addresses);
  out.text(setup.job_id).text(setup.share.host).number(setup.share.first).number(setup.share.count);
  write_options(out, setup.options);
  write_list(out, setup.environment);
  return out;
}

std::optional<proxy_setup> read_setup(std::string_view fields, std::string& why) {
  frame_reader in(fields);
  const auto version = in.text();
  if (in.good() && version != LCI_VERSION_STRING) {
    why = "lcirun here is of version " LCI_VERSION_STRING ", where it was started of version " +
          network::pmi1::printable(version);
    return std::nullopt;
  }
  proxy_setup setup;
  setup.host = in.number(0, int64_t(most_hosts));
  const auto key = in.text();
  if (key.size() == setup.key.size()) memcpy(setup.key.data(), key.data(), key.size());
  setup.port = in.number(1, 65535);
  setup.addresses = read_list(in);
  setup.job_id = in.text();
  setup.share.host = in.text();
  setup.share.first = in.number(0, most_ranks);
  setup.share.count = in.number(1, most_ranks);
  setup.options = read_options(in);
  setup.environment = read_list(in);
  if (in.complete() && key.size() == setup.key.size() && makes_sense(setup)) return setup;
  why = "what came on standard input is not from lcirun";
  return std::nullopt;
}

}  // namespace lci::launcher
