#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace io_server {

server_options parse_options(int argc, char** argv) {
  server_options o;
  CLI::App app(
      "Serves the files of a folder to programs that run with liblci_io_shim.so preloaded.\n"
      "Prints the address for IOD_SERVER, then serves until it gets SIGTERM or SIGINT.\n",
      "lci_iod");
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("lci_iod: ") + e.what() + "\nUsage: lci_iod [OPTIONS] root   (lci_iod --help)\n";
  });
  app.add_option("root", o.root, "Folder to serve; no path of a client leads out of it")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("-l,--listen", o.listen,
                 "Where to listen besides shared memory: tcp://HOST:PORT, PORT 0 chooses one; repeatable");
  app.add_option(
         "-a,--auth", o.auth,
         "How clients over TCP prove who they are: secret, munge (the server's user), or none, also from other hosts")
      ->check(CLI::IsMember({"secret", "munge", "none"}));
  app.add_option("-k,--key-file", o.key_file,
                 "File with the secret, which only its owner may read; with munge, munged's socket if not the default")
      ->check(CLI::ExistingFile);
  app.add_option("-t,--threads", o.threads, "Threads that execute requests")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("-c,--max-clients", o.max_clients, "Processes that may be connected at a time")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--address-file", o.address_file, "Write the address to this file, too, when the server is ready");
  app.add_flag("--walk", o.walk, "Resolve paths component by component, as is done where the kernel has no openat2()");
  app.add_flag("!--no-lend", o.lend, "Do all input from files here; clients on this host don't read a part themselves");
  app.add_flag("-v,--verbose", o.verbose, "Say when clients leave or fail");
  try {
    app.parse(argc, argv);
    if (o.auth == "secret" && o.key_file.empty()) throw CLI::ValidationError("--auth secret needs a --key-file");
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 2);
  }
  return o;
}

}  // namespace io_server
