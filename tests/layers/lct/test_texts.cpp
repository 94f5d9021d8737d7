// The parts that need no second thread: time, texts, dictionaries, files, arguments.
#include <lct.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace {

struct by_free {
  void operator()(const char* text) const { std::free(const_cast<char*>(text)); }
};
std::string taken(const char* text) {
  const std::unique_ptr<const char, by_free> owner(text);
  REQUIRE(text != nullptr);
  return text;
}

LCT_dict_str_int_t colours[] = {{"red", 1}, {"green", 2}, {"blue", 4}, {nullptr, 9}};

/// argv of a program: copies that may be written to, and the closing NULL.
class command_line {
 public:
  command_line(std::initializer_list<const char*> words) {
    for (const char* w : words) texts_.push_back(w);
    for (std::string& t : texts_) words_.push_back(t.data());
    words_.push_back(nullptr);
  }
  int argc() const { return static_cast<int>(texts_.size()); }
  char** argv() { return words_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> words_;
};

}  // namespace

TEST_CASE("time does not decrease, and its units are right", "[time]") {
  const LCT_time_t a = LCT_now();
  usleep(2000);
  const LCT_time_t passed = LCT_now() - a;
  CHECK(LCT_time_to_ms(passed) >= 2);
  CHECK(LCT_time_to_s(passed) < 50);
  CHECK(LCT_time_to_ns(passed) == Approx(LCT_time_to_us(passed) * 1e3));
  CHECK(LCT_time_to_us(passed) == Approx(LCT_time_to_ms(passed) * 1e3));
  CHECK(LCT_time_to_ms(passed) == Approx(LCT_time_to_s(passed) * 1e3));
}

TEST_CASE("one or all occurrences of a text are replaced", "[text]") {
  CHECK(taken(LCT_str_replace_one("a-b-c", "-", "++")) == "a++b-c");
  CHECK(taken(LCT_str_replace_all("a-b-c", "-", "++")) == "a++b++c");
  CHECK(taken(LCT_str_replace_all("aaa", "aa", "a")) == "aa");  // the replacement is not searched
  CHECK(taken(LCT_str_replace_all("abc", "abc", "")) == "");
  CHECK(taken(LCT_str_replace_all("abc", "x", "y")) == "abc");
  CHECK(taken(LCT_str_replace_all("abc", "", "y")) == "abc");
  CHECK(taken(LCT_str_replace_one("", "x", "y")) == "");
}

TEST_CASE("a search reports whether a dictionary has the key, and else gives the default", "[text]") {
  int value = 0;
  CHECK(LCT_str_int_search(colours, 4, "green", 7, &value));
  CHECK(value == 2);
  CHECK(!LCT_str_int_search(colours, 4, "pink", 7, &value));
  CHECK(value == 7);
  CHECK(!LCT_str_int_search(colours, 1, "green", 8, &value));  // beyond the count
  CHECK(value == 8);
  CHECK(LCT_str_int_search(colours, 4, nullptr, 7, &value));
  CHECK(value == 9);
  CHECK(!LCT_str_int_search(colours, 3, nullptr, 7, &value));
  CHECK(!LCT_str_int_search(nullptr, 0, "red", 7, &value));
}

TEST_CASE("a list of keys is parsed to the union of their bits", "[text]") {
  CHECK(LCT_parse_arg(colours, 3, "red,blue", ",") == 5);
  CHECK(LCT_parse_arg(colours, 3, "blue", ",") == 4);
  CHECK(LCT_parse_arg(colours, 3, "green;red;green", ";") == 3);
  CHECK(LCT_parse_arg(colours, 3, "red green,blue", ", ") == 7);  // any of the delimiters
  CHECK(LCT_parse_arg(colours, 3, ",,red,", ",") == 1);
  CHECK(LCT_parse_arg(colours, 3, "", ",") == 0);
  CHECK(LCT_parse_arg(colours, 3, nullptr, ",") == 0);
  CHECK(LCT_parse_arg(colours, 3, "red,pink", ",") == 1);
  LCT_dict_str_int_t all[] = {{"all", -1}};
  CHECK(LCT_parse_arg(all, 1, "all", ",") == ~uint64_t{0});
}

TEST_CASE("a file is read up to the size of the buffer and terminated by 0", "[files]") {
  char name[] = "/tmp/lct-test-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  REQUIRE(write(fd, "0123456789", 10) == 10);
  close(fd);
  char buffer[64];
  CHECK(LCT_read_file(buffer, sizeof buffer, "%s", name) == 10);
  CHECK(std::string(buffer) == "0123456789");
  CHECK(LCT_read_file(buffer, 5, "%s", name) == 4);
  CHECK(std::string(buffer) == "0123");
  CHECK(LCT_read_file(buffer, 1, "%s", name) == 0);
  CHECK(buffer[0] == '\0');
  unlink(name);
  errno = 0;
  CHECK(LCT_read_file(buffer, sizeof buffer, "%s", name) == -1);
  CHECK(errno == ENOENT);
  CHECK(LCT_read_file(buffer, sizeof buffer, "/%s", "tmp") == -1);
  CHECK(errno == EISDIR);
  CHECK(LCT_read_file(buffer, sizeof buffer, "%s", std::string(5000, 'x').c_str()) == -1);
  CHECK(errno == ENAMETOOLONG);
  CHECK(LCT_read_file(buffer, sizeof buffer, "/proc/%d/comm", static_cast<int>(getpid())) > 0);
  CHECK(std::strlen(buffer) > 1);
}

TEST_CASE("options set integers, flags and values of dictionaries", "[arguments]") {
  int n = 3, flag = 0, colour = 2, other = 8;
  LCT_args_parser_t parser = LCT_args_parser_alloc();
  REQUIRE(parser != nullptr);
  LCT_args_parser_add(parser, "n", 1, &n);
  LCT_args_parser_add(parser, "flag", 0, &flag);
  LCT_args_parser_add_dict(parser, "colour", 1, &colour, colours, 3);
  LCT_args_parser_add(parser, "other", 1, &other);
  command_line line = {"program", "--n", "-12", "--colour=blue", "--flag"};
  LCT_args_parser_parse(parser, line.argc(), line.argv());
  CHECK(n == -12);
  CHECK(flag == 1);
  CHECK(colour == 4);
  CHECK(other == 8);
  command_line second = {"program", "--n", "5"};  // parsed from the beginning again
  LCT_args_parser_parse(parser, second.argc(), second.argv());
  CHECK(n == 5);
  command_line none = {"program"};
  LCT_args_parser_parse(parser, none.argc(), none.argv());
  CHECK(n == 5);
  LCT_args_parser_free(parser);
  LCT_args_parser_free(nullptr);
}
