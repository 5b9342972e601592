// SPDX-License-Identifier: Apache-2.0
#include "own_network.hpp"

#include <gtest/gtest.h>

namespace headway::glue::test {
namespace {

JsonObject hello(const std::string& own_network, const std::string& prefixes) {
    return *JsonObject::read(R"({"node":"a0","own_network":)" + own_network + R"(,"prefixes":)" + prefixes + "}");
}

TEST(OwnNetwork, BlocksOfBothFamilies) {
    EXPECT_TRUE(is_in_block("10.1.255.7", "10.1.0.0/16"));
    EXPECT_FALSE(is_in_block("10.2.0.7", "10.1.0.0/16"));
    EXPECT_TRUE(is_in_block("10.1.0.130", "10.1.0.128/25"));
    EXPECT_FALSE(is_in_block("10.1.0.127", "10.1.0.128/25"));
    EXPECT_TRUE(is_in_block("10.1.0.1", "10.1.0.1"));
    EXPECT_TRUE(is_in_block("fd00:1::17", "fd00:1::/64"));
    EXPECT_FALSE(is_in_block("fd00:2::17", "fd00:1::/64"));
    EXPECT_FALSE(is_in_block("10.1.0.1", "fd00:1::/64"));
}

TEST(OwnNetwork, NonsenseIsInNoBlock) {
    for (const char* block : {"", "/", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/8x", "a0"})
        EXPECT_FALSE(is_in_block("10.1.0.1", block)) << block;
    EXPECT_FALSE(is_in_block("a0", "10.1.0.0/16"));
}

TEST(OwnNetwork, TheDaemonsOwnIsKnown) {
    EXPECT_EQ(why_network_is_unknown(hello("false", R"(["10.1.0.0/16"])"), {"172.17.0.2"}), "");
    EXPECT_EQ(why_network_is_unknown(*JsonObject::read(R"({"node":"a0"})"), {"172.17.0.2"}), "");
    EXPECT_EQ(why_network_is_unknown(hello(R"("yes")", R"(["10.1.0.0/16"])"), {"172.17.0.2"}), "");
}

TEST(OwnNetwork, AnotherIsKnownByAnAddressOfTheCluster) {
    const auto told = hello("true", R"(["10.1.0.0/16","fd00:1::/64"])");
    EXPECT_EQ(why_network_is_unknown(told, {"172.17.0.2", "10.1.0.101"}), "");
    EXPECT_EQ(why_network_is_unknown(told, {"fd00:1::17"}), "");
    EXPECT_EQ(why_network_is_unknown(told, {"172.17.0.2", "10.2.0.101"}),
              "this process is in a network namespace of its own, and headwayd would not know its "
              "packets: its addresses (172.17.0.2, 10.2.0.101) are not in the cluster's prefixes "
              "(10.1.0.0/16, fd00:1::/64)");
    EXPECT_NE(why_network_is_unknown(told, {}).find("addresses (none)"), std::string::npos);
    EXPECT_NE(why_network_is_unknown(hello("true", "7"), {"10.1.0.101"}), "");
}

TEST(OwnNetwork, NoAddressHoldsOnThisMachineOnly) {
    for (const Address& address : own_addresses()) {
        EXPECT_FALSE(is_in_block(address, "127.0.0.0/8")) << address;
        EXPECT_NE(address, "::1");
        EXPECT_FALSE(is_in_block(address, "fe80::/10")) << address;
    }
}

}  // namespace
}  // namespace headway::glue::test
