// SPDX-License-Identifier: Apache-2.0
#include "measure/bulk_endpoint.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>

#include "measure/measure_packet.hpp"
#include "base/wire.hpp"

namespace headway {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t datagram_max_bytes = 65536;
constexpr std::size_t batch_max = 64;
constexpr std::size_t control_bytes = 256;
constexpr std::uint32_t ethernet_header_bytes = 14;
constexpr int send_patience_ms = 2000;  // an interface that takes nothing that long is down
constexpr std::chrono::milliseconds answer_patience{500};
// A host remembers so many arrivals of one bulk at most: 64 MB.
constexpr std::size_t arrivals_max = 4'000'000;

struct Datagram {
    std::span<const std::byte> bytes;
    std::int64_t arrived_ns = 0;
    SocketAddress from;
    in6_pktinfo asked_v6{};  ///< the address it came to, for an answer; mapped of IPv4
    in_pktinfo asked_v4{};
    int hop_limit = 0;  ///< what is left of it; 0: not told
    std::uint32_t socket_drops = 0;

    [[nodiscard]] FrameRoute route() const {
        FrameRoute route{std::nullopt, asked_v6.ipi6_ifindex != 0 ? asked_v6.ipi6_ifindex
                                                                  : static_cast<unsigned>(asked_v4.ipi_ifindex)};
        if (hop_limit > 0 && hop_limit <= frames_hop_limit) route.hops = static_cast<unsigned>(frames_hop_limit - hop_limit);
        return route;
    }
};

/// Received without waiting, up to a batch at a time.
class Receiver {
public:
    explicit Receiver(int fd) : fd_(fd), buffer_(batch_max * slot_bytes) {}

    /// The datagrams stay valid until the next call.
    std::span<const Datagram> receive() {
        for (std::size_t i = 0; i < batch_max; ++i) {
            parts_[i] = {buffer_.data() + i * slot_bytes, slot_bytes};
            msghdr& header = messages_[i].msg_hdr;
            header = {};
            header.msg_name = &from_[i];
            header.msg_namelen = sizeof(from_[i]);
            header.msg_iov = &parts_[i];
            header.msg_iovlen = 1;
            header.msg_control = controls_[i].data();
            header.msg_controllen = control_bytes;
        }
        const int got = ::recvmmsg(fd_, messages_.data(), batch_max, MSG_DONTWAIT, nullptr);
        received_.clear();
        for (int i = 0; i < got; ++i) received_.push_back(datagram(static_cast<std::size_t>(i)));
        return received_;
    }

private:
    // A jumbo frame; what is longer is cut, and only its length is of interest.
    static constexpr std::size_t slot_bytes = 9216;

    Datagram datagram(std::size_t i) {
        Datagram one;
        msghdr& header = messages_[i].msg_hdr;
        one.bytes = {buffer_.data() + i * slot_bytes, messages_[i].msg_len};
        one.from.storage = from_[i];
        one.from.length = header.msg_namelen;
        for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
            const auto is = [&](int level, int type) { return part->cmsg_level == level && part->cmsg_type == type; };
            const auto read = [&](auto& value) { std::memcpy(&value, CMSG_DATA(part), sizeof(value)); };
            if (is(SOL_SOCKET, SCM_TIMESTAMPNS)) {
                timespec at{};
                read(at);
                one.arrived_ns = std::int64_t{at.tv_sec} * 1'000'000'000 + at.tv_nsec;
            } else if (is(SOL_SOCKET, SO_RXQ_OVFL)) {
                read(one.socket_drops);
            } else if (is(IPPROTO_IPV6, IPV6_PKTINFO)) {
                read(one.asked_v6);
            } else if (is(IPPROTO_IP, IP_PKTINFO)) {
                read(one.asked_v4);
            } else if (is(IPPROTO_IPV6, IPV6_HOPLIMIT) || is(IPPROTO_IP, IP_TTL)) {
                read(one.hop_limit);
            }
        }
        return one;
    }

    int fd_;
    std::vector<std::byte> buffer_;
    std::array<mmsghdr, batch_max> messages_{};
    std::array<iovec, batch_max> parts_{};
    std::array<sockaddr_storage, batch_max> from_{};
    std::array<std::array<std::byte, control_bytes>, batch_max> controls_{};
    std::vector<Datagram> received_;
};

/// An IPv4 sender's address on an IPv6 socket is a mapped one: its header is 20 bytes.
std::uint32_t ip_udp_bytes(const SocketAddress& from) {
    if (from.family() != AF_INET6) return 28;
    sockaddr_in6 address{};
    std::memcpy(&address, &from.storage, sizeof(address));
    return IN6_IS_ADDR_V4MAPPED(&address.sin6_addr) ? 28 : 48;
}

/// Answers leave from the address that was asked.
class AnswerMessage {
public:
    AnswerMessage(const Datagram& question, std::span<std::byte> bytes) : from_(question.from), part_{bytes.data(), bytes.size()} {
        header_.msg_name = &from_.storage;
        header_.msg_namelen = from_.length;
        header_.msg_iov = &part_;
        header_.msg_iovlen = 1;
        header_.msg_control = control_.data();
        header_.msg_controllen = control_.size();
        // the interface is for the routes to choose
        if (from_.family() == AF_INET6) {
            say_source(IPPROTO_IPV6, IPV6_PKTINFO, in6_pktinfo{question.asked_v6.ipi6_addr, 0});
        } else {
            say_source(IPPROTO_IP, IP_PKTINFO, in_pktinfo{0, question.asked_v4.ipi_addr, {}});
        }
    }

    [[nodiscard]] const msghdr* get() const { return &header_; }

private:
    template <class Info>
    void say_source(int level, int type, const Info& info) {
        cmsghdr* part = CMSG_FIRSTHDR(&header_);
        part->cmsg_level = level;
        part->cmsg_type = type;
        part->cmsg_len = CMSG_LEN(sizeof(info));
        std::memcpy(CMSG_DATA(part), &info, sizeof(info));
        header_.msg_controllen = CMSG_SPACE(sizeof(info));
    }

    SocketAddress from_;
    iovec part_;
    msghdr header_{};
    alignas(cmsghdr) std::array<std::byte, control_bytes> control_{};
};

std::uint32_t wire_bytes_of(std::size_t payload_bytes, std::uint32_t header_bytes) {
    return static_cast<std::uint32_t>(wire_bytes(payload_bytes + header_bytes + ethernet_header_bytes));
}

Result<FileDescriptor> make_stop() {
    FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
    if (!stop) return errno_failure("eventfd");
    return stop;
}

template <class Thread>
Result<std::unique_ptr<Thread>> open_thread(std::uint16_t port) {
    auto socket = bind_socket(SocketKind::datagram, port);
    if (!socket) return tl::unexpected(socket.error());
    auto stop = make_stop();
    if (!stop) return tl::unexpected(stop.error());
    return std::make_unique<Thread>(std::move(*socket), std::move(*stop));
}

struct Outlet {
    FileDescriptor fd;
    std::uint32_t header_bytes = 0;
    std::uint32_t payload_max_bytes = 0;
};

Result<Outlet> open_outlet(const SocketAddress& to) {
    Outlet outlet{FileDescriptor(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)),
                  to.udp_header_bytes(), 0};
    if (!outlet.fd) return errno_failure("socket");
    const int on = 1;
    ::setsockopt(outlet.fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    tell_routes(outlet.fd.get(), to.family());
    if (::connect(outlet.fd.get(), to.get(), to.length) != 0) return errno_failure("connect");
    int mtu = 0;
    socklen_t length = sizeof(mtu);
    const bool is_v6 = to.family() == AF_INET6;
    if (::getsockopt(outlet.fd.get(), is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_MTU : IP_MTU, &mtu, &length) != 0)
        return errno_failure("the path's MTU");
    // a loopback's MTU would make frames that no network has
    constexpr std::uint32_t jumbo_mtu_bytes = 9000;
    outlet.payload_max_bytes = std::min(static_cast<std::uint32_t>(mtu), jumbo_mtu_bytes) - outlet.header_bytes;
    return outlet;
}

}  // namespace

// ------------------------------------------------------------------ DatagramThread

void DatagramThread::start() {
    thread_ = std::thread([this] { run(); });
}

void DatagramThread::stop() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(stop_.get(), &one, sizeof(one)) == 0);
    if (thread_.joinable()) thread_.join();
}

void DatagramThread::run() {
    while (true) {
        std::array<pollfd, 2> waiting{pollfd{stop_.get(), POLLIN, 0}, pollfd{socket_.fd.get(), POLLIN, 0}};
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
        if (waiting[0].revents != 0) return;
        if (waiting[1].revents != 0) receive();
    }
}

// --------------------------------------------------------------------- ArrivalSink

Result<std::unique_ptr<ArrivalSink>> ArrivalSink::open(std::uint16_t port) {
    return open_thread<ArrivalSink>(port);
}

ArrivalSink::ArrivalSink(BoundSocket socket, FileDescriptor stop)
    : DatagramThread(std::move(socket), std::move(stop)) {
    start();
}

void ArrivalSink::listen_for(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    token_ = token;
}

BulkArrivals ArrivalSink::take(std::uint32_t run) {
    const std::lock_guard lock(mutex_);
    if (run != run_) return {};
    arrivals_.socket_drops = drops_seen_ - drops_before_;
    return std::exchange(arrivals_, {});
}

void ArrivalSink::receive() {
    Receiver receiver(socket().get());
    for (auto batch = receiver.receive(); !batch.empty(); batch = receiver.receive()) {
        const std::lock_guard lock(mutex_);
        for (const Datagram& datagram : batch) {
            const auto packet = MeasurePacket::read(datagram.bytes, token_);
            if (token_ == 0 || !packet) continue;
            if (packet->run != run_) {
                // one of an earlier bulk is a straggler
                if (static_cast<std::int32_t>(packet->run - run_) < 0) continue;
                run_ = packet->run;
                arrivals_ = {};
                drops_before_ = drops_seen_;
            }
            drops_seen_ = std::max(drops_seen_, datagram.socket_drops);
            auto& arrivals = arrivals_.by_sender[packet->sender];
            if (arrivals.size() >= arrivals_max) continue;
            arrivals.push_back({datagram.arrived_ns, packet->sequence,
                                wire_bytes_of(datagram.bytes.size(), ip_udp_bytes(datagram.from))});
        }
    }
}

// ----------------------------------------------------------------------- FrameEcho

Result<std::unique_ptr<FrameEcho>> FrameEcho::open(std::uint16_t port) {
    return open_thread<FrameEcho>(port);
}

FrameEcho::FrameEcho(BoundSocket socket, FileDescriptor stop)
    : DatagramThread(std::move(socket), std::move(stop)) {
    start();
}

void FrameEcho::listen_for(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    token_ = token;
    routes_.clear();
}

std::map<std::uint32_t, FrameRoute> FrameEcho::routes() {
    const std::lock_guard lock(mutex_);
    return routes_;
}

void FrameEcho::receive() {
    Receiver receiver(socket().get());
    std::vector<std::byte> answer(datagram_max_bytes);
    for (auto batch = receiver.receive(); !batch.empty(); batch = receiver.receive()) {
        for (const Datagram& datagram : batch) {
            std::optional<MeasurePacket> packet;
            {
                const std::lock_guard lock(mutex_);
                if (token_ == 0 || !(packet = MeasurePacket::read(datagram.bytes, token_))) continue;
                routes_[packet->sender] = datagram.route();
            }
            packet->residence_ns =
                static_cast<std::uint64_t>(std::max<std::int64_t>(0, arrival_clock_ns() - datagram.arrived_ns));
            packet->write(answer);
            const AnswerMessage message(datagram, std::span(answer).first(datagram.bytes.size()));
            // an answer that does not leave is one that is lost
            static_cast<void>(::sendmsg(socket().get(), message.get(), MSG_DONTWAIT));
        }
    }
}

// ------------------------------------------------------------------------- sending

namespace {

/// Sleeps until the bytes so far are due.
class Pace {
public:
    explicit Pace(double bytes_per_s) : bytes_per_s_(bytes_per_s), next_(SteadyTime::now()) {
        // by default a sleep may take 50 us longer, which is four frames of 1 Gbit/s
        if (bytes_per_s_ > 0) ::prctl(PR_SET_TIMERSLACK, 1);
    }

    void add(std::uint32_t bytes) {
        if (bytes_per_s_ <= 0) return;
        next_ += std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * bytes / bytes_per_s_));
    }

    void wait() const {
        if (bytes_per_s_ > 0) std::this_thread::sleep_until(next_);
    }

private:
    double bytes_per_s_;
    SteadyTime::time_point next_;
};

}  // namespace

Result<std::vector<SentFlow>> send_bulk(const BulkSender& sender, std::span<const SocketAddress> destinations,
                                        std::chrono::nanoseconds duration, double wire_bytes_per_s) {
    std::vector<Outlet> outlets;
    for (const SocketAddress& to : destinations) {
        auto outlet = open_outlet(to);
        if (!outlet) return tl::unexpected(outlet.error());
        outlets.push_back(std::move(*outlet));
    }
    std::vector<SentFlow> sent(outlets.size());
    std::vector<std::byte> frame(datagram_max_bytes);
    std::minstd_rand lengths(sender.run * 1000 + sender.self + 1);
    Pace pace(wire_bytes_per_s);
    const auto end = SteadyTime::now() + duration;
    for (std::size_t i = 0; SteadyTime::now() < end; i = (i + 1) % outlets.size()) {
        pace.wait();
        const Outlet& outlet = outlets[i];
        const std::uint32_t most = outlet.payload_max_bytes;
        const std::size_t payload = most - lengths() % (most / 4);
        MeasurePacket{sender.token, sender.run, sender.self, static_cast<std::uint32_t>(sent[i].frames), 0}
            .write(frame);
        if (::send(outlet.fd.get(), frame.data(), payload, MSG_DONTWAIT) < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                ++sent[i].waits;
                pollfd waiting{outlet.fd.get(), POLLOUT, 0};
                if (::poll(&waiting, 1, send_patience_ms) == 0)
                    return failure("the interface has taken no frame for {} ms", send_patience_ms);
                continue;
            }
            if (errno == ENOBUFS || errno == EINTR) continue;  // a queue of this host is full
            if (errno == ECONNREFUSED) return failure("the host that should count frames does not listen any more");
            return errno_failure("sending");
        }
        ++sent[i].frames;
        const std::uint32_t bytes = wire_bytes_of(payload, outlet.header_bytes);
        sent[i].wire_bytes += bytes;
        pace.add(bytes);
    }
    return sent;
}

// ------------------------------------------------------------------------- probing

namespace {

class Prober {
public:
    Prober(const BulkSender& sender, const Outlet& outlet, const Probe& probe)
        : sender_(sender), outlet_(outlet), probe_(probe), receiver_(outlet.fd.get()),
          frame_(probe.is_full_frame ? outlet.payload_max_bytes : MeasurePacket::bytes),
          sent_ns_(probe.count) {}

    Result<ProbedHost> run() {
        auto next = SteadyTime::now();
        for (std::uint32_t i = 0; i < probe_.count; ++i) {
            if (auto sent = send(i); !sent) return tl::unexpected(sent.error());
            next += probe_.interval;
            const bool is_last = i + 1 == probe_.count;
            if (probe_.interval.count() == 0) wait(SteadyTime::now() + answer_patience, i + 1 - given_up_);
            else wait(is_last ? SteadyTime::now() + answer_patience : next, is_last ? probe_.count : UINT32_MAX);
            // later answers do not count for those that were waited for in vain
            if (probe_.interval.count() == 0) given_up_ = i + 1 - answered();
        }
        outcome_.lost = probe_.count - answered();
        outcome_.wire_bytes = wire_bytes_of(frame_.size(), outlet_.header_bytes);
        std::sort(outcome_.round_trip_s.begin(), outcome_.round_trip_s.end());
        return ProbedHost{std::move(outcome_), route_};
    }

private:
    [[nodiscard]] std::uint32_t answered() const { return static_cast<std::uint32_t>(outcome_.round_trip_s.size()); }

    Result<void> send(std::uint32_t i) {
        MeasurePacket{sender_.token, sender_.run, sender_.self, i, 0}.write(frame_);
        sent_ns_[i] = arrival_clock_ns();
        if (::send(outlet_.fd.get(), frame_.data(), frame_.size(), 0) < 0 && errno != ECONNREFUSED && errno != ENOBUFS)
            return errno_failure("sending");
        return {};
    }

    /// Waits until then, or until so many answers are there.
    void wait(SteadyTime::time_point until, std::uint32_t wanted) {
        while (answered() < wanted) {
            const auto left = std::chrono::ceil<std::chrono::microseconds>(until - SteadyTime::now());
            if (left.count() <= 0) return;
            const timespec limit{left.count() / 1'000'000, left.count() % 1'000'000 * 1000};
            pollfd waiting{outlet_.fd.get(), POLLIN, 0};
            if (::ppoll(&waiting, 1, &limit, nullptr) > 0) receive();
        }
    }

    void receive() {
        for (const Datagram& datagram : receiver_.receive()) {
            const auto packet = MeasurePacket::read(datagram.bytes, sender_.token);
            if (!packet || packet->run != sender_.run || packet->sequence >= probe_.count) continue;
            route_ = datagram.route();
            std::int64_t& sent = sent_ns_[packet->sequence];
            if (sent == 0) continue;  // came twice
            const auto there_and_back = datagram.arrived_ns - sent - static_cast<std::int64_t>(packet->residence_ns);
            sent = 0;
            // a clock that was set meanwhile
            if (there_and_back > 0) outcome_.round_trip_s.push_back(static_cast<double>(there_and_back) / 1e9);
        }
        // ECONNREFUSED waits to be read, and poll() would return at once
        int error = 0;
        socklen_t length = sizeof(error);
        ::getsockopt(outlet_.fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    }

    const BulkSender& sender_;
    const Outlet& outlet_;
    const Probe& probe_;
    Receiver receiver_;
    std::vector<std::byte> frame_;
    std::vector<std::int64_t> sent_ns_;
    std::uint32_t given_up_ = 0;
    ProbeOutcome outcome_;
    std::optional<FrameRoute> route_;
};

}  // namespace

Result<ProbedHost> probe_round_trips(const BulkSender& sender, const SocketAddress& destination,
                                     const Probe& probe) {
    const auto outlet = open_outlet(destination);
    if (!outlet) return tl::unexpected(outlet.error());
    return Prober(sender, *outlet, probe).run();
}

}  // namespace headway
