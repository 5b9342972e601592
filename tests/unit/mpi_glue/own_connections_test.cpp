// SPDX-License-Identifier: Apache-2.0
// This process's own connections, over the loopback device.
#include "own_connections.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

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
