// The file through which processes become the ranks of a job, here of one rank.
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "lci/errors.hpp"
#include "lib/bootstrap/job_file.hpp"

using lci::network::job_file;

namespace {

/// A new folder with two empty folders, of which "first" is the current folder until the destructor restores it.
struct job_folders {
  job_folders() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lci-job-file-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    all = pattern;
    for (const char* name : {"first", "second"}) std::filesystem::create_directory(all / name);
    enter("first");
  }
  ~job_folders() {
    std::filesystem::current_path(before);
    std::filesystem::remove_all(all);
  }
  void enter(const char* name) const { std::filesystem::current_path(all / name); }
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::path all;
};

/// Lets files have at most `bytes` bytes, as on a full disk, until the destructor.
struct small_files {
  explicit small_files(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~small_files() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }
  rlimit before{};
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

}  // namespace

TEST_CASE("the last rank of a job removes the job's file, whatever the current folder is") {
  const job_folders folders;
  {
    const job_file job("ranks", 1, 1);
    folders.enter("second");
    std::ofstream("ranks") << "of another job";
  }
  CHECK_FALSE(std::filesystem::exists(folders.all / "first" / "ranks"));
  CHECK(std::filesystem::exists(folders.all / "second" / "ranks"));
}

TEST_CASE("a job's file that was replaced by another one is not removed") {
  const job_folders folders;
  {
    const job_file job("ranks", 1, 1);
    std::filesystem::remove("ranks");
    std::ofstream("ranks") << "of another job";
  }
  CHECK(std::filesystem::exists("ranks"));
}

TEST_CASE("the ranks of a job file get the code of an abort") {
  const job_folders folders;
  const int code = GENERATE(0, 3, -1, -2);
  job_file job("ranks", 1, 1);
  CHECK(job.share("x") == "x");
  job.abort(code);
  try {
    job.share("y");
    FAIL("share() did not throw");
  } catch (const lci::bootstrap_error& e) {
    CHECK(std::string(e.what()).find("with code " + std::to_string(code)) != std::string::npos);
  }
}

TEST_CASE("a job's file for which there was no room does not disturb the next job") {
  const job_folders folders;
  for (const rlim_t bytes : {10UL, 60UL, 100UL}) {  // in the header, and behind it
    {
      const small_files limit(bytes);
      CHECK_THROWS_AS(job_file("ranks", 64, 1), lci::bootstrap_error);
    }
    CHECK_NOTHROW(job_file("ranks", 1, 1));
  }
}
