// SPDX-License-Identifier: Apache-2.0
// One host's side of bulks: sending them, counting what arrives, looking at round trips and
// answering those of others.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "measure/arrivals.hpp"
#include "measure/laboratory.hpp"
#include "measure/measure_socket.hpp"

namespace headway {

/// How a frame came.
struct FrameRoute {
    std::optional<unsigned> hops;  ///< routers that it passed
    unsigned ifindex = 0;          ///< 0: not known
};

/// Frames that arrived, by the host that sent them.
struct BulkArrivals {
    std::map<std::uint32_t, std::vector<Arrival>> by_sender;
    std::uint64_t socket_drops = 0;
};

/// Receives in a thread of its own for as long as it lives.
class DatagramThread {
public:
    virtual ~DatagramThread() = default;
    DatagramThread(const DatagramThread&) = delete;
    DatagramThread& operator=(const DatagramThread&) = delete;

    [[nodiscard]] std::uint16_t port() const { return socket_.port; }

protected:
    explicit DatagramThread(BoundSocket socket, FileDescriptor stop)
        : socket_(std::move(socket)), stop_(std::move(stop)) {}
    /// By the constructor and the destructor of the final class.
    void start();
    void stop();

    [[nodiscard]] const FileDescriptor& socket() const { return socket_.fd; }

private:
    /// Receives until no more datagrams wait.
    virtual void receive() = 0;
    void run();

    BoundSocket socket_;
    FileDescriptor stop_;  ///< an eventfd: readable when it is time to end
    std::thread thread_;
};

/// Counts the frames of the bulk that sent last.
class ArrivalSink final : public DatagramThread {
public:
    [[nodiscard]] static Result<std::unique_ptr<ArrivalSink>> open(std::uint16_t port);
    ArrivalSink(BoundSocket socket, FileDescriptor stop);
    ~ArrivalSink() override { stop(); }

    /// Counts the frames with this token from now on.
    void listen_for(std::uint64_t token);
    /// Takes what has arrived of that bulk, and forgets it here.
    [[nodiscard]] BulkArrivals take(std::uint32_t run);

private:
    void receive() override;

    std::mutex mutex_;
    std::uint64_t token_ = 0;  ///< 0: nobody's
    std::uint32_t run_ = 0;
    BulkArrivals arrivals_;
    std::uint32_t drops_seen_ = 0;   ///< the socket's counter, which never goes back
    std::uint32_t drops_before_ = 0;
};

/// Sends frames back to where they came from.
class FrameEcho final : public DatagramThread {
public:
    [[nodiscard]] static Result<std::unique_ptr<FrameEcho>> open(std::uint16_t port);
    FrameEcho(BoundSocket socket, FileDescriptor stop);
    ~FrameEcho() override { stop(); }

    void listen_for(std::uint64_t token);
    /// By sender, of the last frame that was sent back.
    [[nodiscard]] std::map<std::uint32_t, FrameRoute> routes();

private:
    void receive() override;

    std::mutex mutex_;
    std::uint64_t token_ = 0;
    std::map<std::uint32_t, FrameRoute> routes_;
};

struct BulkSender {
    std::uint64_t token = 0;
    std::uint32_t run = 0;
    std::uint32_t self = 0;
};

struct SentFlow {
    std::uint64_t frames = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t waits = 0;  ///< how often the interface had to catch up
};

/// To every destination in turn, as fast as frames are taken, for so long.  Frames differ in
/// length by a quarter: of equal ones that two hosts send at the same rate, a full queue
/// may drop always the same host's.  With a rate, all destinations together get that much;
/// a host that is late catches up with a few frames at once.
[[nodiscard]] Result<std::vector<SentFlow>> send_bulk(const BulkSender& sender,
                                                      std::span<const SocketAddress> destinations,
                                                      std::chrono::nanoseconds duration,
                                                      double wire_bytes_per_s = 0);

struct ProbedHost {
    ProbeOutcome outcome;
    std::optional<FrameRoute> route;  ///< of its last answer
};

/// Sends a frame when the one before has come back, unless there is an interval.
[[nodiscard]] Result<ProbedHost> probe_round_trips(const BulkSender& sender, const SocketAddress& destination,
                                                   const Probe& probe);

}  // namespace headway
