// SPDX-License-Identifier: Apache-2.0
#include "library_environment.hpp"

#include <gtest/gtest.h>

namespace headway::glue {
namespace {

TEST(TcpIsTheNetwork, WithoutSettingsWhereThereIsNoInfiniBand) {
    EXPECT_TRUE(is_tcp_the_network(nullptr, nullptr, false));
    EXPECT_FALSE(is_tcp_the_network(nullptr, nullptr, true));
}

TEST(TcpIsTheNetwork, WhereTheTransportsAreTcp) {
    EXPECT_TRUE(is_tcp_the_network("tcp", nullptr, true));
    EXPECT_TRUE(is_tcp_the_network("self,sm,tcp", nullptr, true));
    EXPECT_FALSE(is_tcp_the_network("self,sm", nullptr, false));
    EXPECT_FALSE(is_tcp_the_network("", nullptr, false));
}

TEST(TcpIsTheNetwork, WithInfiniBandAmongTheTransportsTheDevicesDecide) {
    for (const char* transports : {"rc,tcp", "dc_x,tcp", "ud_verbs,tcp", "ib,tcp", "all", "^sm"}) {
        EXPECT_TRUE(is_tcp_the_network(transports, nullptr, false)) << transports;
        EXPECT_FALSE(is_tcp_the_network(transports, nullptr, true)) << transports;
        EXPECT_TRUE(is_tcp_the_network(transports, "eth0", true)) << transports;
        EXPECT_FALSE(is_tcp_the_network(transports, "mlx5_0:1,eth0", true)) << transports;
        EXPECT_FALSE(is_tcp_the_network(transports, "all", true)) << transports;
    }
}

TEST(TcpIsTheNetworkOfOpenMpi, WithoutSettingsWhereThereIsNoInfiniBand) {
    for (const char* btl : {static_cast<const char*>(nullptr), "^openib"}) {
        EXPECT_TRUE(is_tcp_the_network_of_open_mpi(nullptr, btl, false));
        EXPECT_TRUE(is_tcp_the_network_of_open_mpi("ob1", btl, false));
        EXPECT_FALSE(is_tcp_the_network_of_open_mpi(nullptr, btl, true));
    }
}

TEST(TcpIsTheNetworkOfOpenMpi, WhereItAloneIsNamed) {
    EXPECT_TRUE(is_tcp_the_network_of_open_mpi(nullptr, "tcp,self", true));
    EXPECT_TRUE(is_tcp_the_network_of_open_mpi("ob1", "vader,tcp,self", true));
    EXPECT_FALSE(is_tcp_the_network_of_open_mpi("ob1", "openib,tcp,self", false));
    EXPECT_FALSE(is_tcp_the_network_of_open_mpi("ob1", "vader,self", false));
    EXPECT_FALSE(is_tcp_the_network_of_open_mpi("ucx", "tcp,self", false));
    EXPECT_FALSE(is_tcp_the_network_of_open_mpi("cm", nullptr, false));
}

}  // namespace
}  // namespace headway::glue
