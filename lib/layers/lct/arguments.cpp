// Command-line options, parsed by the C library.
#include <getopt.h>
#include <lct.h>

#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "lib/layers/lct/dictionary.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace {

struct argument {
  const char* name;
  bool has_value;
  int* value;
  const LCT_dict_str_int_t* dict;  // or null: any integer
  int count;
};

[[noreturn]] void end_with(int status) {
  std::fflush(stdout);
  std::exit(status);
}

class parser : public lct::object<0x5bafb10a> {
 public:
  void add(const char* function, const argument& a) {
    for (const argument& known : arguments_)
      if (std::strcmp(known.name, a.name) == 0) lct::fail(function, "--%s has been added before", a.name);
    arguments_.push_back(a);
  }

  void parse(int argc, char** argv) {
    std::vector<option> table;
    const int n = static_cast<int>(arguments_.size());
    for (int i = 0; i < n; ++i)
      table.push_back({arguments_[static_cast<size_t>(i)].name,
                       arguments_[static_cast<size_t>(i)].has_value ? required_argument : no_argument, nullptr,
                       first_result + i});
    table.push_back({"help", no_argument, nullptr, first_result + n});  // last: the program's own one takes precedence
    table.push_back({nullptr, 0, nullptr, 0});
    optind = 0;  // start at the first argument, even if the program has used getopt before
    for (int c; (c = getopt_long(argc, argv, "", table.data(), nullptr)) != -1;) {
      if (c < first_result) {  // '?': the C library has printed the error
        std::fprintf(stderr, "%s: --help shows the options\n", argv[0]);
        end_with(EXIT_FAILURE);
      }
      if (c == first_result + n) {
        help(argv[0]);
        end_with(EXIT_SUCCESS);
      }
      set(arguments_[static_cast<size_t>(c - first_result)], argv[0]);
    }
  }

  void print(bool verbose) const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const argument& a = arguments_[i];
      const char* const name = verbose ? name_of(a) : nullptr;
      std::printf("%s--%s ", i > 0 && !verbose ? " " : "", a.name);
      name != nullptr ? std::printf("%s", name) : std::printf("%d", *a.value);
      if (verbose) std::printf("\n");
    }
    if (!verbose) std::printf("\n");
    std::fflush(stdout);
  }

 private:
  static constexpr int first_result = 256;  // beyond any character that getopt_long() returns

  static const char* name_of(const argument& a) {
    for (int i = 0; i < a.count; ++i)
      if (a.dict[i].key != nullptr && a.dict[i].val == *a.value) return a.dict[i].key;
    return nullptr;
  }

  static void set(const argument& a, const char* program) {
    if (!a.has_value) {
      *a.value = 1;
      return;
    }
    const char *text = optarg, *end = text + std::strlen(text);
    if (a.dict != nullptr) {
      if (const auto* entry = lct::find_entry("LCT_args_parser_parse", a.dict, a.count, text)) {
        *a.value = entry->val;
        return;
      }
      std::fprintf(stderr, "%s: --%s %s: must be one of: %s\n", program, a.name, text,
                   lct::keys_of(a.dict, a.count).c_str());
      end_with(EXIT_FAILURE);
    }
    int value = 0;
    const auto [rest, error] = std::from_chars(text, end, value);
    if (error != std::errc() || rest != end) {
      std::fprintf(stderr, "%s: --%s %s: must be an integer from %d to %d\n", program, a.name, text, INT_MIN, INT_MAX);
      end_with(EXIT_FAILURE);
    }
    *a.value = value;
  }

  void help(const char* program) const {
    std::printf("%s", program);
    for (const argument& a : arguments_) {
      const std::string keys = lct::keys_of(a.dict, a.count);
      std::printf("\n  --%s%s%s%s (default: ", a.name,
                  !a.has_value        ? ""
                  : a.dict == nullptr ? " N"
                                      : " ",
                  a.has_value ? keys.c_str() : "", "");
      const char* name = name_of(a);
      name != nullptr ? std::printf("%s)", name) : std::printf("%d)", *a.value);
    }
    std::printf("\n");
  }

  std::vector<argument> arguments_;
};

constexpr const char* a_parser = "a parser of arguments";

parser& parser_of(const char* function, LCT_args_parser_t p) { return lct::get<parser>(function, a_parser, p); }

void add(const char* function, LCT_args_parser_t p, const argument& a) {
  parser& to = parser_of(function, p);
  lct::require(function, "name", a.name);
  lct::require(function, "ptr", a.value);
  if (a.count < 0) lct::fail(function, "count = %d, but must be the number of entries of dict", a.count);
  lct::or_fail(function, [&] { to.add(function, a); });
}

}  // namespace

LCT_args_parser_t LCT_args_parser_alloc() {
  return lct::or_null("LCT_args_parser_alloc", [] { return new parser; });
}
void LCT_args_parser_free(LCT_args_parser_t p) { lct::release<parser>("LCT_args_parser_free", a_parser, &p); }
void LCT_args_parser_add(LCT_args_parser_t p, const char* name, int has_arg, int* ptr) {
  add("LCT_args_parser_add", p, {name, has_arg != 0, ptr, nullptr, 0});
}
void LCT_args_parser_add_dict(LCT_args_parser_t p, const char* name, int has_arg, int* ptr, LCT_dict_str_int_t dict[],
                              int count) {
  lct::require("LCT_args_parser_add_dict", "dict", dict);
  add("LCT_args_parser_add_dict", p, {name, has_arg != 0, ptr, dict, count});
}
void LCT_args_parser_parse(LCT_args_parser_t p, int argc, char* argv[]) {
  constexpr const char* me = "LCT_args_parser_parse";
  parser& with = parser_of(me, p);
  lct::require(me, "argv", argv);
  lct::or_fail(me, [&] { with.parse(argc, argv); });
}
void LCT_args_parser_print(LCT_args_parser_t p, bool verbose) {
  const parser& of = parser_of("LCT_args_parser_print", p);
  lct::or_fail("LCT_args_parser_print", [&] { of.print(verbose); });
}
