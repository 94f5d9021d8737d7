// Measures gRPC calls of 64 bytes in both directions between two processes over TCP on the loopback: round trip, and
// rate with 64 outstanding calls. grpc_calls [SECONDS]
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "echo.grpc.pb.h"
#include "measure.hpp"

namespace {

class echo_server final : public Echo::CallbackService {
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const Record* in, Record* out) override {
    *out = *in;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void serve(int to) {
  echo_server service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  bench::send_port(to, static_cast<unsigned>(port));
  server->Wait();
}

struct call {
  grpc::ClientContext context;
  Record out;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Record>> reader;
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();  // before gRPC starts threads, which fork() would not copy
  if (child == 0) {
    serve(ends[1]);
    _exit(0);
  }
  const std::string address = "127.0.0.1:" + std::to_string(bench::receive_port(ends[0]));
  {
    const auto stub = Echo::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    Record in;
    in.set_a(1);
    in.set_h(2);
    const double ns = bench::round_trip(seconds, [&] {
      grpc::ClientContext context;
      Record out;
      if (!stub->Call(&context, in, &out).ok() || out.h() != 2) _exit(1);
    });
    grpc::CompletionQueue ended;
    const auto post = [&] {
      auto* c = new call;
      c->reader = stub->AsyncCall(&c->context, in, &ended);
      c->reader->Finish(&c->out, &c->status, c);
    };
    const auto take = [&] {
      void* tag = nullptr;
      bool is_well = false;
      if (!ended.Next(&tag, &is_well)) _exit(1);
      const std::unique_ptr<call> c(static_cast<call*>(tag));
      if (!c->status.ok()) _exit(1);
    };
    uint64_t n = 0;
    const double begin = bench::now();
    for (int i = 0; i < bench::window; ++i) post();
    while (bench::now() < begin + seconds)
      for (int i = 0; i < bench::window; ++i, ++n) {
        take();
        post();
      }
    for (int i = 0; i < bench::window; ++i) take();
    bench::print("grpc", ns, static_cast<double>(n) / (bench::now() - begin));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}
