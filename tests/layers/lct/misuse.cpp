// Misuses LCT in the way that the first argument names. test_misuse.py checks the error.
#include <lct.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

int number = 0;
LCT_dict_str_int_t dict[] = {{"a", 1}};
char key[] = "key", value[LCT_PMI_STRING_LIMIT] = "value";
std::string too_long(LCT_PMI_STRING_LIMIT, 'x');

LCT_queue_t queue(LCT_queue_type_t type = LCT_QUEUE_LCRQ, size_t length = 4) { return LCT_queue_alloc(type, length); }

/// Parses "--n 1" and more with an option n.
void parse(std::vector<std::string> words) {
  LCT_args_parser_t parser = LCT_args_parser_alloc();
  LCT_args_parser_add(parser, "n", 1, &number);
  LCT_args_parser_add_dict(parser, "which", 1, &number, dict, 1);
  LCT_args_parser_add(parser, "flag", 0, &number);
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  LCT_args_parser_parse(parser, static_cast<int>(words.size()), argv.data());
}

const std::map<std::string, std::function<void()>> cases = {
    {"queue null", [] { LCT_queue_push(nullptr, &number); }},
    {"queue pop null", [] { LCT_queue_pop(nullptr); }},
    {"queue free null", [] { LCT_queue_free(nullptr); }},
    {"queue push nothing", [] { LCT_queue_push(queue(), nullptr); }},
    {"queue type", [] { queue(static_cast<LCT_queue_type_t>(12)); }},
    {"queue type negative", [] { queue(static_cast<LCT_queue_type_t>(-1)); }},
    {"queue length", [] { queue(LCT_QUEUE_ARRAY_ST, 0); }},
    {"queue length atomic", [] { queue(LCT_QUEUE_ARRAY_ATOMIC_FAA, 0); }},
    {"queue full",
     [] {
       LCT_queue_t q = queue(LCT_QUEUE_ARRAY_ST, 1);
       LCT_queue_push(q, &number);
       LCT_queue_push(q, &number);
     }},
    {"queue is a barrier", [] { LCT_queue_pop(LCT_tbarrier_alloc(1)); }},
    {"barrier threads", [] { LCT_tbarrier_alloc(0); }},
    {"barrier ticket", [] { LCT_tbarrier_test(LCT_tbarrier_alloc(2), 0); }},
    {"barrier ticket negative", [] { LCT_tbarrier_wait(LCT_tbarrier_alloc(2), -1); }},
    {"barrier null", [] { LCT_tbarrier_arrive(nullptr); }},
    {"counter null",
     [] {
       LCT_pcounter_add(nullptr, {LCT_PCOUNTER_COUNTER, 0}, 1);
     }},
    {"counter handle",
     [] {
       LCT_pcounter_add(LCT_pcounter_ctx_alloc("c"), {LCT_PCOUNTER_COUNTER, 0}, 1);
     }},
    {"counter handle negative",
     [] {
       LCT_pcounter_add(LCT_pcounter_ctx_alloc("c"), {LCT_PCOUNTER_COUNTER, -1}, 1);
     }},
    {"counter type",
     [] { LCT_pcounter_register(LCT_pcounter_ctx_alloc("c"), "n", static_cast<LCT_pcounter_type_t>(4)); }},
    {"counter name", [] { LCT_pcounter_register(LCT_pcounter_ctx_alloc("c"), nullptr, LCT_PCOUNTER_TREND); }},
    {"counter types",
     [] {
       LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("c");
       LCT_pcounter_register(ctx, "n", LCT_PCOUNTER_TREND);
       LCT_pcounter_register(ctx, "n", LCT_PCOUNTER_TIMER);
     }},
    {"counter no timer",
     [] {
       LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("c");
       LCT_pcounter_start(ctx, LCT_pcounter_register(ctx, "n", LCT_PCOUNTER_TREND));
     }},
    {"counter dump", [] { LCT_pcounter_dump(LCT_pcounter_ctx_alloc("c"), nullptr); }},
    {"log levels", [] { LCT_log_ctx_alloc(nullptr, 2, 0, "l", nullptr, nullptr, nullptr, nullptr); }},
    {"log is a queue", [] { LCT_Warn(queue(), "text"); }},
    {"fina", [] { LCT_fina(); }},
    {"text null", [] { LCT_str_replace_all("a", nullptr, "b"); }},
    {"search val", [] { LCT_str_int_search(dict, 1, "a", 0, nullptr); }},
    {"search dict", [] { LCT_str_int_search(nullptr, 1, "a", 0, &number); }},
    {"parse delimiter", [] { LCT_parse_arg(dict, 1, "a", nullptr); }},
    {"file room", [] { LCT_read_file(value, 0, "/dev/null"); }},
    {"pmi before", [] { LCT_pmi_get_rank(); }},
    {"pmi barrier before", [] { LCT_pmi_barrier(); }},
    {"pmi finalize before", [] { LCT_pmi_finalize(); }},
    {"pmi twice",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_publish(key, value);
       LCT_pmi_publish(key, value);
     }},
    {"pmi long key",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_publish(too_long.data(), value);
     }},
    {"pmi long value",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_publish(key, too_long.data());
     }},
    {"pmi rank",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_getname(LCT_pmi_get_size(), key, value);
     }},
    {"pmi unpublished",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_barrier();
       LCT_pmi_getname(0, key, value);
     }},
    {"pmi no barrier",
     [] {
       LCT_pmi_initialize();
       LCT_pmi_publish(key, value);
       LCT_pmi_getname(0, key, value);
     }},
    {"pmi environment", [] { LCT_pmi_initialize(); }},
    {"argument null", [] { LCT_args_parser_add(LCT_args_parser_alloc(), "n", 1, nullptr); }},
    {"argument twice",
     [] {
       LCT_args_parser_t parser = LCT_args_parser_alloc();
       LCT_args_parser_add(parser, "n", 1, &number);
       LCT_args_parser_add(parser, "n", 1, &number);
     }},
    {"option unknown",
     [] {
       parse({"--m", "3"});
     }},
    {"option no value", [] { parse({"--n"}); }},
    {"option no number",
     [] {
       parse({"--n", "3x"});
     }},
    {"option too large",
     [] {
       parse({"--n", "3000000000"});
     }},
    {"option no key",
     [] {
       parse({"--which", "b"});
     }},
    {"option flag value", [] { parse({"--flag=2"}); }},
    {"option help", [] { parse({"--help"}); }},
    {"assert", [] { LCT_Assert(nullptr, number == 1, "number is %d", number); }},
    {"assert in a file",
     [] {
       static const char* const levels[] = {"only"};
       char name[] = "stdout";
       LCT_log_ctx_t log = LCT_log_ctx_alloc(levels, 1, -1, "quiet", name, nullptr, nullptr, nullptr);
       LCT_Assert(log, number == 1, "number is %d", number);
     }},
    {"print",
     [] {
       LCT_args_parser_t parser = LCT_args_parser_alloc();
       LCT_args_parser_add(parser, "n", 1, &number);
       int which = 1;
       LCT_args_parser_add_dict(parser, "which", 1, &which, dict, 1);
       LCT_args_parser_print(parser, false);
       LCT_args_parser_print(parser, true);
     }},
    {"long wait",
     [] {
       LCT_queue_t q = queue(LCT_QUEUE_ARRAY_ATOMIC_FAA, 2);
       for (int i = 0; i < 3; ++i) LCT_queue_push(q, &number);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    for (const auto& [name, _] : cases) std::puts(name.c_str());
    return 0;
  }
  const auto found = cases.find(argv[1]);
  if (found == cases.end()) return 3;
  found->second();
  return 0;
}
