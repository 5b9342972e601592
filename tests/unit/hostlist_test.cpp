// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/hostlist.hpp"
#include "base/ip_prefix.hpp"

namespace headway {
namespace {

using Names = std::vector<std::string>;

TEST(Hostlist, Expands) {
    EXPECT_EQ(*parse_hostlist("a0"), Names({"a0"}));
    EXPECT_EQ(*parse_hostlist("a[0-3,7]"), Names({"a0", "a1", "a2", "a3", "a7"}));
    EXPECT_EQ(*parse_hostlist("n[008-011]"), Names({"n008", "n009", "n010", "n011"}));
    EXPECT_EQ(*parse_hostlist("n[0-1,08-09]x"), Names({"n0x", "n1x", "n08x", "n09x"}));
    EXPECT_EQ(*parse_hostlist("r[1-2]n[0-1]"), Names({"r1n0", "r1n1", "r2n0", "r2n1"}));
    EXPECT_EQ(*parse_hostlist("a0,b[0-1],c"), Names({"a0", "b0", "b1", "c"}));
    EXPECT_EQ(*parse_hostlist("a0.example.org"), Names({"a0.example.org"}));
    EXPECT_EQ(*parse_hostlist("a,a"), Names({"a", "a"}));
    EXPECT_EQ(*parse_hostlist("_a[1-2]"), Names({"_a1", "_a2"}));
    EXPECT_EQ(*parse_hostlist("n[9999999998-10000000001]"),
              Names({"n9999999998", "n9999999999", "n10000000000", "n10000000001"}));
}

TEST(Hostlist, NumbersOutgrowTheirZeros) {
    EXPECT_EQ(*parse_hostlist("n[08-10]"), Names({"n08", "n09", "n10"}));
    EXPECT_EQ(*parse_hostlist("n[08-9]"), Names({"n08", "n09"}));
    EXPECT_EQ(*parse_hostlist("n[099-101]"), Names({"n099", "n100", "n101"}));
    const Names grown = *parse_hostlist("n[01-128]");
    EXPECT_EQ(grown.size(), 128U);
    EXPECT_EQ(grown.front() + grown[98] + grown[99] + grown.back(), "n01n99n100n128");
}

TEST(Hostlist, EmptyItemsAndBlanksSeparate) {
    for (const char* text :
         {"a,,b", ",a,b", "a,b,", " a b ", "a, b", "a\tb\n", "a\nb\n", ",,a,\n,b,"}) {
        EXPECT_EQ(*parse_hostlist(text), Names({"a", "b"})) << text;
    }
}

TEST(Hostlist, ThreeGroupsAndMoreAreInSlurmsOrder) {
    EXPECT_EQ(
        *parse_hostlist("a[1-2]b[3-4]c[5-6]"),
        Names({"a1b3c5", "a1b3c6", "a2b3c5", "a2b3c6", "a1b4c5", "a1b4c6", "a2b4c5", "a2b4c6"}));
    EXPECT_EQ(*parse_hostlist("a[1-2]b[3-4]c[5-6]-ib"),
              Names({"a1b3c5-ib", "a1b3c6-ib", "a2b3c5-ib", "a2b3c6-ib", "a1b4c5-ib", "a1b4c6-ib",
                     "a2b4c5-ib", "a2b4c6-ib"}));
}

TEST(Hostlist, SlurmReadsItWithoutSuffixes) {
    const Names hosts{"n1.cluster.example", "n2.cluster.example", "m1-ib", "m2-ib", "a1", "a2"};
    EXPECT_EQ(format_hostlist(hosts), "n[1-2].cluster.example,m[1-2]-ib,a[1-2]");
    EXPECT_EQ(format_hostlist(hosts, AfterBrackets::nothing),
              "n1.cluster.example,n2.cluster.example,m1-ib,m2-ib,a[1-2]");
}

struct BadList {
    const char* text;
    const char* reason;
};

class HostlistRefuses : public testing::TestWithParam<BadList> {};

TEST_P(HostlistRefuses, AndSaysWhy) {
    const auto hosts = parse_hostlist(GetParam().text, 100);
    ASSERT_FALSE(hosts);
    EXPECT_NE(hosts.error().message.find(GetParam().reason), std::string::npos)
        << hosts.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Grammar, HostlistRefuses,
    testing::Values(BadList{"", "names no host"}, BadList{",, ", "names no host"},
                    BadList{"a[0-3", "'[' without"}, BadList{"a0-3]", "no host name has"},
                    BadList{"a[]", "neither a number"}, BadList{"a[0-]", "neither a number"},
                    BadList{"a[-3]", "neither a number"}, BadList{"a[0,,1]", "neither a number"},
                    BadList{"a[0-x]", "neither a number"}, BadList{"a[[0]]", "neither a number"},
                    BadList{"a[3-1]", "backwards"}, BadList{"a[0 - 3]", "neither a number"},
                    BadList{"a[0-100]", "more than 100 hosts"},
                    BadList{"a[0-99],b", "more than 100 hosts"},
                    BadList{"a[0-9]b[0-9]c[0-9]", "more than 100 hosts"},
                    BadList{"a[0-999999999]", "more than 100 hosts"},
                    BadList{"a[0-999999999999999999]", "more than 100 hosts"},
                    BadList{"a[0-9999999999999999999]", "neither a number"},
                    BadList{"a[0-9]b[0-999999999999999999]c[0-9]", "more than 100 hosts"},
                    BadList{"-a", "does not start with"}, BadList{".a", "does not start with"},
                    BadList{"a/b", "no host name has"}));

/// A list that is short to write and long to expand is refused by what is written.
TEST(Hostlist, ManyBracketsAndLongPartsAreNotExpanded) {
    std::string groups;
    for (int group = 0; group < 8; ++group) groups += "[1]";
    EXPECT_EQ(*parse_hostlist(groups), Names({"11111111"}));
    EXPECT_NE(parse_hostlist(groups + "[0-9]").error().message.find("more than 8 brackets"),
              std::string::npos);
    const std::string part(host_name_max_bytes / 2, 'a');
    EXPECT_NE(parse_hostlist(part + "[0-65535]" + part + "aa").error().message.find("longer than"),
              std::string::npos);
}

TEST(Hostlist, RefusesNamesThatAreTooLong) {
    EXPECT_TRUE(parse_hostlist(std::string(host_name_max_bytes, 'a')));
    EXPECT_FALSE(parse_hostlist(std::string(host_name_max_bytes + 1, 'a')));
}

TEST(IpPrefix, ReadsAndPrints) {
    EXPECT_EQ(parse_ip_prefix("10.1.0.0/16")->to_string(), "10.1.0.0/16");
    EXPECT_EQ(parse_ip_prefix("10.1.2.3")->to_string(), "10.1.2.3/32");
    EXPECT_EQ(parse_ip_prefix("fd00:1::/64")->to_string(), "fd00:1::/64");
    EXPECT_EQ(parse_ip_prefix("FD00:0001:0::/33")->to_string(), "fd00:1::/33");
    EXPECT_EQ(parse_ip_prefix("::1")->to_string(), "::1/128");
    const auto mask = parse_ip_prefix("10.1.0.0/17")->mask();
    EXPECT_EQ(mask[0], 0xff);
    EXPECT_EQ(mask[1], 0xff);
    EXPECT_EQ(mask[2], 0x80);
    EXPECT_EQ(mask[3], 0);
}

TEST(IpPrefix, RefusesWhatIsNone) {
    for (const char* text : {"", "/", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/0", "::/0", "::/129",
                             "10.1.0/16", "10.1.0.0/16x", "10.1.0.0/-1", "host", "10.1.0.0/ 16",
                             "10.1.0.0.0/8", "fd00::/64/64"}) {
        EXPECT_FALSE(parse_ip_prefix(text)) << text;
    }
}

TEST(IpPrefix, NamesTheBlockThatWasMeant) {
    const auto prefix = parse_ip_prefix("10.1.2.3/16");
    ASSERT_FALSE(prefix);
    EXPECT_NE(prefix.error().message.find("10.1.0.0/16"), std::string::npos);
}

// No packet has such an address: the kernel's sockets turn it into IPv4.
TEST(IpPrefix, RefusesIpv4WithinIpv6AndNamesIt) {
    for (const auto& [text, meant] : {std::pair("::ffff:10.2.0.0/112", "write 10.2.0.0/16"),
                                      std::pair("::ffff:a02:3/128", "write 10.2.0.3/32"),
                                      std::pair("::ffff:10.2.0.3", "write 10.2.0.3/32"),
                                      std::pair("0:0:0:0:0:ffff::/97", "write 0.0.0.0/1")}) {
        const auto prefix = parse_ip_prefix(text);
        ASSERT_FALSE(prefix) << text;
        EXPECT_NE(prefix.error().message.find(meant), std::string::npos) << prefix.error().message;
    }
    EXPECT_TRUE(parse_ip_prefix("::fffe:a02:0/112"));
    EXPECT_TRUE(parse_ip_prefix("64:ff9b::a02:0/112"));
}

TEST(IpPrefix, Overlap) {
    const auto both = [](const char* a, const char* b) {
        return overlap(*parse_ip_prefix(a), *parse_ip_prefix(b));
    };
    EXPECT_TRUE(both("10.0.0.0/8", "10.1.0.0/16"));
    EXPECT_TRUE(both("10.1.0.0/16", "10.0.0.0/8"));
    EXPECT_TRUE(both("10.1.0.0/16", "10.1.0.0/16"));
    EXPECT_FALSE(both("10.1.0.0/16", "10.2.0.0/16"));
    EXPECT_TRUE(both("10.1.128.0/17", "10.1.128.1"));
    EXPECT_FALSE(both("10.1.0.0/17", "10.1.128.1"));
    EXPECT_TRUE(both("fd00::/16", "fd00:1::/64"));
    // 0a01:: and 10.1 begin with the same bits, but are of different families.
    EXPECT_FALSE(both("10.1.0.0/16", "a01::/16"));
}

}  // namespace
}  // namespace headway
