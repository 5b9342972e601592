// SPDX-License-Identifier: Apache-2.0
#include "measure/agent_call.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/host_name.hpp"
#include "base/json.hpp"
#include "base/json_number.hpp"
#include "base/text_lines.hpp"
#include "measure/agent_messages.hpp"
#include "measure/measure_socket.hpp"

namespace headway {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t greeting_max_bytes = 4096;
constexpr std::size_t callers_max = 4096;  ///< that have not said who they are
constexpr std::chrono::milliseconds connect_patience{3000};

/// Launchers tell a rank how many there are.
constexpr std::array rank_counts{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

std::string address_text(const sockaddr* address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address->sa_family == AF_INET) {
        const auto* of_ipv4 = reinterpret_cast<const sockaddr_in*>(address);
        ::inet_ntop(AF_INET, &of_ipv4->sin_addr, text.data(), text.size());
    } else if (address->sa_family == AF_INET6) {
        const auto& bytes = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(&bytes))
            ::inet_ntop(AF_INET, &bytes.s6_addr[12], text.data(), text.size());
        else if (!IN6_IS_ADDR_LINKLOCAL(&bytes))
            ::inet_ntop(AF_INET6, &bytes, text.data(), text.size());
    }
    return text.data();
}

/// Lists this node's addresses, each behind a blank; those of loopback last, for a job on this node
/// alone.
std::string own_addresses() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return "";
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(list, &::freeifaddrs);
    std::string outer, loopback;
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
        const std::string text = address_text(one->ifa_addr);
        if (!text.empty()) ((one->ifa_flags & IFF_LOOPBACK) != 0 ? loopback : outer) += " " + text;
    }
    return outer + loopback;
}

std::optional<std::string> draw_token() {
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return std::nullopt;
    std::string token;
    for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
    return token;
}

std::uint64_t rank_count() {
    for (const char* name : rank_counts) {
        const char* const value = std::getenv(name);
        if (value == nullptr) continue;
        if (const auto number = to_number<std::uint64_t>(value)) return *number;
    }
    return 0;
}

FileDescriptor connect_to(const std::string& address, std::uint16_t port) {
    const auto to = socket_address(address, port);
    if (!to) return FileDescriptor();
    FileDescriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return FileDescriptor();
    if (::connect(socket.get(), to->get(), to->length) != 0 && errno != EINPROGRESS)
        return FileDescriptor();
    pollfd waiting{socket.get(), POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof(error);
    if (::poll(&waiting, 1, static_cast<int>(connect_patience.count())) != 1)
        return FileDescriptor();
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
        return FileDescriptor();
    ::fcntl(socket.get(), F_SETFL, 0);
    return socket;
}

}  // namespace

Result<AgentCalls> AgentCalls::open() {
    auto listener = bind_socket(SocketKind::listener, 0);
    if (!listener) return tl::unexpected(listener.error());
    const auto token = draw_token();
    if (!token) return errno_failure("getrandom");
    ::fcntl(listener->fd.get(), F_SETFL, O_NONBLOCK);
    std::string where = fmt::format("{} {}{}", *token, listener->port, own_addresses());
    return AgentCalls(std::move(listener->fd), *token, std::move(where));
}

Result<std::vector<CalledAgent>> AgentCalls::wait(int launcher,
                                                  std::chrono::milliseconds patience) {
    std::optional<SteadyTime::time_point> until;
    while (heard_ == 0 || heard_ < ranks_) {
        if (heard_ > 0 && !until) until = SteadyTime::now() + patience;
        const auto left =
            until ? std::chrono::ceil<std::chrono::milliseconds>(*until - SteadyTime::now())
                  : std::chrono::milliseconds(-1);
        if (until && left.count() <= 0) {
            return failure(
                "{} of the job's {} ranks have called within {} s; they need headway at the same "
                "path, and a way to this node",
                heard_, ranks_, patience.count() / 1000);
        }
        std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}, {launcher, POLLIN, 0}};
        for (const Caller& caller : callers_) watched.push_back({caller.socket.get(), POLLIN, 0});
        ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
        hear_all();
        if (heard_ > 0 && ranks_ == 0)
            return failure("the launcher does not tell its ranks how many they are");
        if (watched[1].revents == 0 || (heard_ > 0 && heard_ == ranks_)) continue;
        if (heard_ == 0) return std::vector<CalledAgent>();
        return failure("the launcher has ended before all of the job's ranks have called");
    }
    return std::move(agents_);
}

void AgentCalls::hear_all() {
    for (;;) {
        sockaddr_storage from{};
        socklen_t size = sizeof(from);
        auto* const address = reinterpret_cast<sockaddr*>(&from);
        FileDescriptor socket(
            ::accept4(listener_.get(), address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) break;
        if (callers_.size() < callers_max)
            callers_.push_back({std::move(socket), address_text(address), ""});
    }
    std::erase_if(callers_, [&](Caller& caller) { return !hear(caller); });
}

bool AgentCalls::hear(Caller& caller) {
    // byte by byte: what follows the line is the agent's
    for (char letter = 0;;) {
        const ssize_t got = ::read(caller.socket.get(), &letter, 1);
        if (got < 0) return errno == EAGAIN || errno == EINTR;
        if (got == 0 || caller.said.size() == greeting_max_bytes) return false;
        if (letter == '\n') break;
        caller.said += letter;
    }
    const std::string line = std::move(caller.said);
    welcome(caller, line);
    return false;
}

/// A caller that does not know the token is dropped.
void AgentCalls::welcome(Caller& caller, std::string_view line) {
    const AgentJson greeting = parse_json<AgentJson>(line);
    (void)reading("a greeting", [&] {
        if (greeting.at("token").get<std::string>() != token_) return false;
        const auto node = greeting.at("node").get<std::string>();
        const auto ranks = whole_number<std::uint64_t>(greeting.at("ranks"));
        ranks_ = std::max<std::uint64_t>(ranks_, ranks);
        ++heard_;
        const bool is_known =
            std::ranges::any_of(agents_, [&](const auto& one) { return one.node == node; });
        if (!is_known)
            agents_.push_back({node, caller.address, AgentProcess::over(std::move(caller.socket))});
        return true;
    });
}

Result<void> call_coordinator() {
    const char* const where = std::getenv(call_variable);
    const auto words = split_words(where != nullptr ? where : "");
    const auto port = words.size() > 2 ? to_number<std::uint16_t>(words[1]) : std::nullopt;
    if (!port) return failure("--call: {} does not say where", call_variable);
    const char* const name = std::getenv("HEADWAY_NODE");
    const AgentJson greeting{
        {"token", std::string(words[0])},
        {"node", name != nullptr && *name != '\0' ? std::string(name) : host_name()},
        {"ranks", rank_count()}};
    const std::string line = json_text(greeting) + "\n";
    for (std::size_t i = 2; i < words.size(); ++i) {
        const FileDescriptor socket = connect_to(std::string(words[i]), *port);
        if (!socket) continue;
        if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(line.size()))
            continue;
        if (::dup2(socket.get(), STDIN_FILENO) < 0 || ::dup2(socket.get(), STDOUT_FILENO) < 0)
            return errno_failure("dup2");
        return {};
    }
    return failure("--call: nobody answers at any of{}",
                   std::string_view(where).substr(words[0].size()));
}

}  // namespace headway
