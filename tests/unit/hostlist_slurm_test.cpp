// SPDX-License-Identifier: Apache-2.0
// Lists of hosts are what Slurm's own library takes them for.
#include <cctype>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <slurm/slurm.h>

#include "base/hostlist.hpp"

namespace headway {
namespace {

using Names = std::vector<std::string>;

Names slurm_s(const std::string& list) {
    auto hosts = slurm_hostlist_create(list.c_str());
    Names names;
    while (char* const name = slurm_hostlist_shift(hosts)) {
        names.emplace_back(name);
        std::free(name);
    }
    slurm_hostlist_destroy(hosts);
    return names;
}

/// Slurm 22.05 makes another number of it.
bool has_a_number_above_64_bits(const std::string& name) {
    constexpr std::size_t digits_max = 19;
    std::size_t digits = 0;
    for (const char c : name) {
        digits = std::isdigit(static_cast<unsigned char>(c)) != 0 ? digits + 1 : 0;
        if (digits > digits_max) return true;
    }
    return false;
}

class RandomLists {
public:
    explicit RandomLists(unsigned seed) : random_(seed) {}

    std::size_t below(std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
    }

    /// Makes a list that Slurm reads: nothing follows the brackets of an item.
    std::string list() {
        std::string text;
        for (std::size_t items = 1 + below(4); items-- > 0;) {
            text += item();
            text += one_of({",", ",,", " ", ", ", ""});
            if (text.back() != ',' && text.back() != ' ') break;
        }
        return text;
    }
    std::string name() {
        return letters() + number() + one_of({"", "-ib", ".cluster", "x" + number()});
    }

private:
    std::string item() {
        if (below(3) == 0) return name();
        std::string text = letters();
        for (std::size_t groups = 1 + below(4); groups-- > 0;) {
            text += "[" + range();
            if (below(3) == 0) text += "," + range();
            text += "]";
            if (groups > 0) text += one_of({"", "r", "n-"});
        }
        return text;
    }
    std::string range() {
        const std::size_t first = std::stoul(one_of({"1", "8", "9", "98", "99", "4294967295"}));
        std::string text = one_of({"", "", "0", "00"}) + std::to_string(first);
        if (below(3) > 0) text += one_of({"-", "-0"}) + std::to_string(first + below(4));
        return text;
    }
    std::string number() { return one_of({"", "0", "1", "07", "10", "099", "100", "12345678901"}); }
    std::string letters() { return one_of({"a", "n", "N", "_x", "gpu-", "r1n"}); }

    std::string one_of(std::initializer_list<std::string> values) {
        return *(values.begin() + below(values.size()));
    }

    std::mt19937 random_;
};

TEST(HostlistOfSlurm, IsReadAlike) {
    RandomLists random(1);
    for (int round = 0; round < 3000; ++round) {
        const std::string list = random.list();
        const auto ours = parse_hostlist(list);
        ASSERT_TRUE(ours) << list << ": " << ours.error().message;
        ASSERT_EQ(*ours, slurm_s(list)) << list;
    }
}

TEST(HostlistOfSlurm, IsWrittenSoThatItReadsTheSame) {
    RandomLists random(2);
    for (int round = 0; round < 3000; ++round) {
        Names hosts;
        for (std::size_t more = 1 + random.below(6); more-- > 0;) hosts.push_back(random.name());
        const Names some = *parse_hostlist(random.list());
        for (const std::string& name : some) {
            if (!has_a_number_above_64_bits(name)) hosts.push_back(name);
        }
        const std::string list = format_hostlist(hosts, AfterBrackets::nothing);
        ASSERT_EQ(slurm_s(list), hosts) << list;
        ASSERT_EQ(*parse_hostlist(list), hosts) << list;
    }
}

}  // namespace
}  // namespace headway
