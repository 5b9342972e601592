// SPDX-License-Identifier: Apache-2.0
// What a user without root says of a network, in a line, and what is kept of a measured one.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "config/network_line.hpp"
#include "config/user_networks.hpp"
#include "look/device_speed.hpp"

namespace headway::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr BitsPerSecond gigabit{1'000'000'000};

Result<Config> read_line(std::string_view line) {
    return parse_network_line(line, [] { return gigabit; });
}

std::string mistake_in(std::string_view line) {
    const auto read = parse_network_line(line, [] { return std::nullopt; });
    return read ? "" : read.error().message;
}

class UserNetworks : public testing::Test {
protected:
    UserNetworks() {
        std::string name = testing::TempDir() + "networks-XXXXXX";
        folder_ = ::mkdtemp(name.data());
    }
    ~UserNetworks() override { fs::remove_all(folder_); }

    static void write(const fs::path& file, std::string_view text) {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    /// A network of these hosts, kept so many hours after the first one.
    void keep(const Names& hosts, const std::string& rate, int hours = 1) {
        std::string list;
        for (const std::string& host : hosts) list += (list.empty() ? "\"" : ", \"") + host + "\"";
        const std::string network = "[[cluster]]\nname = \"c\"\nhosts = [" + list +
                                    "]\nhost_rate = \"" + rate + "\"\ntrunk_rate = \"1gbit\"\n";
        const auto file = keep_network(folder_, hosts, network, "");
        ASSERT_TRUE(file) << file.error().message;
        fs::last_write_time(*file, fs::file_time_type() + std::chrono::hours(hours));
    }

    /// Returns the rate of the links of the network that is found, in Mbit/s; 0: none is.
    [[nodiscard]] std::uint64_t rate_between(const Names& hosts) const {
        const auto found = find_kept_network(folder_, hosts);
        EXPECT_TRUE(found) << found.error().message;
        return found ? found->topology.clusters()[0].host_rate.value / 1'000'000 : 0;
    }

    fs::path folder_;
};

TEST(NetworkLine, HasClustersAndTheLinksBetweenThem) {
    const auto config = read_line("a[0-2] | b[0-1],x 10gbit : 2.5gbit");
    ASSERT_TRUE(config) << config.error().message;
    const auto& clusters = config->topology.clusters();
    ASSERT_EQ(clusters.size(), 2U);
    EXPECT_EQ(clusters[0].name, "a");
    EXPECT_EQ(clusters[0].hosts, (Names{"a0", "a1", "a2"}));
    EXPECT_EQ(clusters[0].host_rate, gigabit);
    EXPECT_EQ(clusters[1].name, "cluster1");
    EXPECT_EQ(clusters[1].hosts, (Names{"b0", "b1", "x"}));
    EXPECT_EQ(clusters[1].host_rate.value, 10 * gigabit.value);
    for (const Cluster& cluster : clusters) {
        EXPECT_EQ(cluster.trunk_up_rate.value, 2'500'000'000U);
        EXPECT_EQ(cluster.trunk_down_rate, cluster.trunk_up_rate);
    }
}

TEST(NetworkLine, ATrunkMayBeSeveralLinks) {
    for (const char* line : {"a[0-1] | b[0-1] : 4x2.5gbit", "a[0-1] | b[0-1] : 4 x 2.5gbit"}) {
        const auto config = read_line(line);
        ASSERT_TRUE(config) << config.error().message;
        EXPECT_EQ(config->topology.clusters()[1].trunk_links, ParallelLinks{4});
        EXPECT_EQ(config->topology.clusters()[1].trunk_up_rate.value, 2'500'000'000U);
    }
}

TEST(NetworkLine, HostsOfOneSwitchHaveNoLinkBetweenThem) {
    const auto config = read_line(" n[1-4] ");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->topology.host_count(), 4U);
}

TEST(NetworkLine, NoNameIsUsedTwice) {
    const auto config = read_line("n[0-1]|n[2-3]|n|cluster1,cluster2:1gbit");
    ASSERT_TRUE(config) << config.error().message;
    Names names;
    for (const Cluster& cluster : config->topology.clusters()) names.push_back(cluster.name);
    EXPECT_EQ(names, (Names{"cluster3", "cluster4", "cluster5", "cluster"}));
}

TEST(NetworkLine, AsksForTheHostsLinksOnlyWhereItDoesNotSay) {
    EXPECT_EQ(mistake_in("a[0-1] 1gbit | b0 1gbit : 2gbit"), "");
    EXPECT_NE(mistake_in("a[0-1] 1gbit | b0 : 2gbit").find("how fast the links of b0 are"),
              std::string::npos);
}

TEST(NetworkLine, MistakesAreNamed) {
    const std::vector<std::pair<const char*, const char*>> wrongs{
        {"", "names no host"},
        {"|", "how fast the clusters' links"},
        {"a0 1gbit | b0 1gbit", "how fast the clusters' links"},
        {"a0 1gbit | b0 1gbit : fast", "the rate behind ':'"},
        {"a0 1gbit | b0 1gbit : 0x1gbit", "is no number of links from 1 to 64"},
        {"a0 1gbit | b0 1gbit : -x1gbit", "is no number of links from 1 to 64"},
        {"a0 1gbit | b0 1gbit : 4x", "the rate behind ':'"},
        {"a0 1gbit | : 1gbit", "names no host"},
        {"a0 1gbit | a0 1gbit : 1gbit", "\"a0\" is used twice"},
        {"a[0 1gbit | b0 1gbit : 1gbit", "a[0"},
        {"a0 1gbit : 1gbit : 1gbit", "several ':'"},
        {"a[0-99999] 1gbit", "more than 65536 hosts"},
        {"a[0-65535] 1gbit | b[0-9] 1gbit : 1gbit", "more than 0 hosts"},
    };
    for (const auto& [line, words] : wrongs) {
        EXPECT_NE(mistake_in(line).find(words), std::string::npos)
            << line << ": " << mistake_in(line);
    }
    std::string many = "a0 1gbit";
    for (int i = 1; i < 200; ++i) many += "|a" + std::to_string(i) + " 1gbit";
    EXPECT_NE(mistake_in(many + ":1gbit").find("more than 128 clusters"), std::string::npos);
}

TEST(NetworkLine, AnyBytesAreReadOrRefused) {
    std::mt19937 random(3);
    constexpr std::string_view letters = "ab01[]-,|: \t1xgbit";
    for (int i = 0; i < 20'000; ++i) {
        std::string line;
        while (random() % 16 != 0) line += letters[random() % letters.size()];
        if (i % 8 == 0) line += static_cast<char>(random());
        const auto read = read_line(line);
        if (!read) EXPECT_FALSE(read.error().message.empty()) << line;
    }
}

TEST_F(UserNetworks, TheLastOneThatHasAllHostsIsTaken) {
    keep({"a0", "a1", "b0"}, "1mbit", 1);
    keep({"a0", "a1", "b0", "b1"}, "3mbit", 3);
    keep({"a0", "a1", "c0"}, "2mbit", 2);
    EXPECT_EQ(rate_between({"a0", "b0"}), 3U);
    EXPECT_EQ(rate_between({"A0.example.org", "c0"}), 2U);
    keep({"b0", "a1", "a0"}, "4mbit", 4);
    EXPECT_EQ(rate_between({"a0", "b0"}), 4U) << "the same hosts in another order";
    const auto files = std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    EXPECT_EQ(files, 3) << "and in place of what was kept of them";
}

TEST_F(UserNetworks, WhereThereIsNoneTheHostsAreNamed) {
    keep({"a0", "a1"}, "1mbit");
    write(folder_ / "b.toml", "[[cluster]]\n");
    write(folder_ / "notes.txt", "no network");
    for (const fs::path& folder : {folder_, folder_ / "nowhere"}) {
        const auto found = find_kept_network(folder, Names{"a0", "b0"});
        ASSERT_FALSE(found);
        EXPECT_NE(found.error().message.find("no network that was measured between a0,b0"),
                  std::string::npos)
            << found.error().message;
    }
    EXPECT_NE(find_kept_network(folder_, Names{"b0"}).error().message.find("b.toml:1"),
              std::string::npos);
}

TEST_F(UserNetworks, AnyListOfHostsIsAFileName) {
    Names hosts;
    for (int i = 0; i < 250; ++i)
        hosts.push_back("node-of-rack-" + std::to_string(i * 3) + ".example.org");
    keep(hosts, "1mbit");
    EXPECT_EQ(rate_between(hosts), 1U);
    hosts.front() = "another.example.org";
    keep(hosts, "2mbit");
    EXPECT_EQ(rate_between(hosts), 2U);
}

TEST_F(UserNetworks, WhatCannotBeKeptIsSaid) {
    write(folder_ / "file", "");
    const auto kept = keep_network(folder_ / "file", Names{"a0", "a1"}, "", "");
    ASSERT_FALSE(kept);
    EXPECT_NE(kept.error().message.find("file"), std::string::npos);
    const Names hosts{"a0", "a1"};
    fs::create_directories(folder_ / "a[0-1].toml" / "full");  // which no file can replace
    EXPECT_FALSE(keep_network(folder_, hosts, "", ""));
    const auto left = std::count_if(fs::directory_iterator(folder_), fs::directory_iterator(),
                                    [](const auto& entry) {
                                        const std::string end = entry.path().extension().string();
                                        return end != ".toml" && end != ".json" && end != "";
                                    });
    EXPECT_EQ(left, 0) << "what is unfinished goes";
}

TEST_F(UserNetworks, LieWhereTheEnvironmentSays) {
    const auto place = [](const char* home, const char* config, const char* state) {
        for (const auto& [name, value] :
             {std::pair{"HOME", home}, std::pair{"XDG_CONFIG_HOME", config},
              std::pair{"XDG_STATE_HOME", state}}) {
            if (value == nullptr)
                ::unsetenv(name);
            else
                ::setenv(name, value, 1);
        }
        return std::pair{user_config_file().value_or("none").string(),
                         user_networks_folder().value_or("none").string()};
    };
    using Places = std::pair<std::string, std::string>;
    EXPECT_EQ(place("/home/u", nullptr, ""), (Places{"/home/u/.config/headway/headway.toml",
                                                     "/home/u/.local/state/headway/networks"}));
    EXPECT_EQ(place("/home/u", "/c", "/s"),
              (Places{"/c/headway/headway.toml", "/s/headway/networks"}));
    EXPECT_EQ(place(nullptr, "relative", nullptr), (Places{"none", "none"}));
}

TEST_F(UserNetworks, CardsThatAreAlikeSayHowFastTheLinksAre) {
    const auto card = [&](const char* name, const char* speed) {
        write(folder_ / name / "speed", speed);
        fs::create_directories(folder_ / name / "device");
    };
    EXPECT_EQ(speed_of_all_cards(folder_ / "nowhere"), std::nullopt);
    write(folder_ / "veth0" / "speed", "10000\n");
    write(folder_ / "lo" / "mtu", "65536\n");
    card("eth0", "1000\n");
    card("eth1", "-1\n");
    EXPECT_EQ(speed_of_all_cards(folder_), gigabit);
    card("eth2", "1000\n");
    EXPECT_EQ(speed_of_all_cards(folder_), gigabit);
    fs::create_directories(folder_ / "eth2" / "master" / "bonding");
    EXPECT_EQ(speed_of_all_cards(folder_), std::nullopt) << "a part of a link is no link";
    fs::remove_all(folder_ / "eth2");
    card("eth3", "10000\n");
    EXPECT_EQ(speed_of_all_cards(folder_), std::nullopt);
}

}  // namespace
}  // namespace headway::test
