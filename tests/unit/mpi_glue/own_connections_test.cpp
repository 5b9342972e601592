// SPDX-License-Identifier: Apache-2.0
// This process's own connections, over the loopback device.
#include "own_connections.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "unique_fd.hpp"

namespace headway::glue::test {
namespace {

/// Both ends of a TCP connection to this process.
class Connection {
public:
    explicit Connection(int family) {
        sockaddr_storage address{};
        address.ss_family = static_cast<sa_family_t>(family);
        if (family == AF_INET6)
            reinterpret_cast<sockaddr_in6&>(address).sin6_addr = IN6ADDR_ANY_INIT;
        listener_ = UniqueFd(socket(family, SOCK_STREAM, 0));
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        EXPECT_EQ(bind(listener_.get(), generic, length), 0);
        EXPECT_EQ(listen(listener_.get(), 1), 0);
        EXPECT_EQ(getsockname(listener_.get(), generic, &length), 0);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = family == AF_INET ? reinterpret_cast<sockaddr_in&>(address).sin_port
                                        : reinterpret_cast<sockaddr_in6&>(address).sin6_port;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        near_ = UniqueFd(socket(AF_INET, SOCK_STREAM, 0));
        EXPECT_EQ(connect(near_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
        far_ = UniqueFd(accept(listener_.get(), nullptr, nullptr));
        EXPECT_TRUE(far_);
    }

    [[nodiscard]] int near() const { return near_.get(); }
    [[nodiscard]] int far() const { return far_.get(); }

private:
    UniqueFd listener_, near_, far_;
};

TEST(OwnConnections, AreCountedByTheirOtherEnd) {
    const Connection one(AF_INET);
    EXPECT_EQ(count_own_connections({"127.0.0.1"}).connections, 2U);
    EXPECT_EQ(count_own_connections({"127.0.0.1"}).retransmissions, 0U);
    EXPECT_EQ(count_own_connections({"192.0.2.1"}).connections, 0U);
    EXPECT_EQ(count_own_connections({}).connections, 0U);
}

TEST(OwnConnections, OfASocketForBothFamiliesToo) {
    const Connection one(AF_INET6);
    EXPECT_EQ(count_own_connections({"127.0.0.1"}).connections, 2U);
}

TEST(OwnConnections, OfNoneHaveHadNoTimeOuts) {
    EXPECT_EQ(count_own_connections({"192.0.2.1"}).timeouts, 0U);
}

/// A kernel that takes times from `least_us` on, and what it was told: by socket, both options.
struct Kernel {
    int least_us = 0;
    std::map<int, std::vector<int>> told;

    bool operator()(int socket, int option, int us) {
        if (us < least_us) return false;
        told[socket].push_back(us);
        EXPECT_TRUE(option == 45 || option == 46) << option;
        return true;
    }
};

std::optional<int> shortest_wait_of(int least_us) {
    Kernel kernel{least_us, {}};
    return shortest_wait_us(std::ref(kernel));
}

TEST(OwnConnections, TheShortestWaitIsWhatTheKernelTakes) {
    EXPECT_EQ(shortest_wait_of(2000), 8000);
    EXPECT_EQ(shortest_wait_of(8000), 8000);
    EXPECT_EQ(shortest_wait_of(8001), 20000);
    EXPECT_EQ(shortest_wait_of(20001), std::nullopt);
}

TEST(OwnConnections, AKernelThatTakesOneOfBothTimesAloneTakesNone) {
    for (const int taken : {45, 46}) {
        EXPECT_EQ(shortest_wait_us([&](int, int option, int) { return option == taken; }),
                  std::nullopt);
    }
}

TEST(OwnConnections, WaitsAreShortenedAtBothEndsOfThoseToOthers) {
    const Connection one(AF_INET6);
    Kernel kernel;
    EXPECT_EQ(shorten_waits({"127.0.0.1"}, {}, 8000, std::ref(kernel)), 2);
    EXPECT_EQ(kernel.told, (std::map<int, std::vector<int>>{{one.near(), {8000, 8000}},
                                                            {one.far(), {8000, 8000}}}));
    kernel.told.clear();
    EXPECT_EQ(shorten_waits({"192.0.2.1"}, {}, 8000, std::ref(kernel)), 0);
    EXPECT_TRUE(kernel.told.empty());
}

TEST(OwnConnections, WhatWasThereBeforeIsSpared) {
    const Connection before(AF_INET);
    const auto spared = own_tcp_sockets();
    EXPECT_TRUE(spared.contains(before.near()) && spared.contains(before.far()));
    const Connection one(AF_INET);
    Kernel kernel;
    EXPECT_EQ(shorten_waits({"127.0.0.1"}, spared, 8000, std::ref(kernel)), 2);
    EXPECT_EQ(kernel.told.size(), 2U);
    EXPECT_TRUE(kernel.told.contains(one.near()) && kernel.told.contains(one.far()));
}

TEST(OwnConnections, ThisKernelKeepsWhatItTakes) {
    const auto us = shortest_wait_us();
    if (!us) GTEST_SKIP() << "this kernel is older than Linux 6.15";
    const Connection one(AF_INET);
    EXPECT_EQ(shorten_waits({"127.0.0.1"}, {}, *us), 2);
    for (const int option : {45, 46}) {
        int kept = 0;
        socklen_t length = sizeof(kept);
        EXPECT_EQ(getsockopt(one.far(), IPPROTO_TCP, option, &kept, &length), 0);
        EXPECT_EQ(kept, *us) << option;
    }
}

TEST(OwnConnections, TimeOutsAreUnknownIfThoseOfOneAre) {
    ConnectionCounters all{1, 2, 3};
    all.add({1, 1, 1});
    EXPECT_EQ(all.timeouts, 4U);
    all.add({1, 0, std::nullopt});
    EXPECT_EQ(all.timeouts, std::nullopt);
    EXPECT_EQ(all.connections, 3U);
    EXPECT_EQ(all.retransmissions, 3U);
}

}  // namespace
}  // namespace headway::glue::test
