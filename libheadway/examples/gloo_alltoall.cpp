// SPDX-License-Identifier: MIT
// An all-to-all by Gloo, the library by which PyTorch's processes talk over TCP, paced with libheadway.
//
//   gloo_alltoall RANK BYTES CALLS FOLDER INTERFACE HOST...
//
// Each process of the job is started with its own RANK, the place of its host in the list; HOST is the name that
// headway.toml has for it.  FOLDER, which all see, is where they find each other.  Every process sends BYTES to
// every other, CALLS times, and all begin each call together.  Rank 0 prints how long each call took at the slowest
// process, in milliseconds.  HEADWAY=off runs the same without pacing.
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <headway.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

/// For Gloo's own messages, beside those of the all-to-all.
enum Tag : std::uint32_t { start_tag = 1, slowest_tag };

struct Job {
    int rank = 0;
    std::size_t bytes = 0;
    int calls = 0;
    std::string folder, interface;
    std::vector<const char*> hosts;
};

std::shared_ptr<gloo::Context> connect(const Job& job) {
    gloo::transport::tcp::attr where;
    where.iface = job.interface;
    auto device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::FileStore store(job.folder);
    auto context = std::make_shared<gloo::rendezvous::Context>(job.rank, static_cast<int>(job.hosts.size()));
    context->connectFullMesh(store, device);
    return context;
}

/// Nobody returns before all are here.
void meet(const std::shared_ptr<gloo::Context>& context) {
    gloo::BarrierOptions options(context);
    options.setTag(start_tag);
    gloo::barrier(options);
}

double slowest_ms(const std::shared_ptr<gloo::Context>& context, double own_ms) {
    double slowest = own_ms;
    gloo::AllreduceOptions options(context);
    options.setOutput(&slowest, 1);
    options.setReduceFunction([](void* into, const void* one, const void* other, std::size_t count) {
        gloo::max<double>(into, one, other, count);
    });
    options.setTag(slowest_tag);
    gloo::allreduce(options);
    return slowest;
}

void run_calls(const Job& job, headway_session* session, headway_exchange* all) {
    const auto context = connect(job);
    std::vector<char> out(job.bytes * job.hosts.size()), in(out.size());
    for (int call = 0; call < job.calls; ++call) {
        meet(context);
        const auto begin = std::chrono::steady_clock::now();
        const std::uint64_t entry = headway_enter(session, all, job.bytes);
        gloo::AlltoallOptions options(context);
        options.setInput(out.data(), out.size());
        options.setOutput(in.data(), in.size());
        gloo::alltoall(options);
        headway_leave(session, entry);
        const std::chrono::duration<double, std::milli> own = std::chrono::steady_clock::now() - begin;
        const double slowest = slowest_ms(context, own.count());
        if (job.rank == 0) std::printf("%.3f ms%s\n", slowest, entry != 0 ? "" : ", not paced");
    }
    meet(context);  // so that nobody closes a connection that another still reads from
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 8) {
        std::fprintf(stderr, "usage: gloo_alltoall RANK BYTES CALLS FOLDER INTERFACE HOST...\n");
        return 2;
    }
    const Job job{std::atoi(argv[1]), std::strtoul(argv[2], nullptr, 10), std::atoi(argv[3]), argv[4], argv[5],
                  {argv + 6, argv + argc}};
    headway_options options{};
    options.size = sizeof(options);
    options.job = "gloo_alltoall";
    options.rank = job.rank;
    headway_session* const session = headway_open(&options);
    if (headway_set_hosts(session, job.hosts.data(), job.hosts.size(), 1) != 0 && job.rank == 0)
        std::fprintf(stderr, "gloo_alltoall: not paced: %s\n", headway_reason(session));
    run_calls(job, session, headway_exchange_of(session, "alltoall", nullptr));
    headway_close(session);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "gloo_alltoall: %s\n", error.what());
    return 1;
}
