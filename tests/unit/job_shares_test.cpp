// SPDX-License-Identifier: Apache-2.0
// Parts of links: never more than the link, and those of trunk/shares.hpp.
#include <gtest/gtest.h>

#include <random>

#include "jobs/job_shares.hpp"
#include "topologies.hpp"
#include "trunk/shares.hpp"

namespace headway::test {
namespace {

SharingJob job_of(const Topology& topology, const std::vector<std::string>& names,
                  std::uint32_t weight = 1) {
    return {*topology.resolve(names), 0, weight, 0};
}

std::vector<std::vector<LinkPart>> shared_in_allocations(const Topology& topology,
                                                         SharePolicy policy,
                                                         const std::vector<SharingJob>& jobs) {
    return share_links(topology, make_kernel_layout(topology, 0), policy, jobs);
}

/// Shares links among jobs each of which is an allocation.
std::vector<std::vector<LinkPart>> shared(const Topology& topology, SharePolicy policy,
                                          std::vector<SharingJob> jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].allocation = i;
    return shared_in_allocations(topology, policy, jobs);
}

constexpr LinkPart half{LinkPart::one / 2};

TEST(JobShares, ALoneJobHasEverything) {
    const Topology topology = demo_topology();
    for (const SharePolicy policy : {SharePolicy::per_job, SharePolicy::per_host}) {
        const auto parts = shared(topology, policy, {job_of(topology, {"a0", "a1", "b0"}, 7)});
        EXPECT_EQ(parts, std::vector(1, std::vector(2, LinkPart{})));
    }
    EXPECT_EQ(part_of(BytesPerSecond{773'437}, {}, {2'500'000}), BytesPerSecond{773'437});
    EXPECT_EQ(part_of(std::nullopt, {}, {2'500'000}), std::nullopt);
}

TEST(JobShares, TwoJobsOnOneTrunkHaveHalfOfItEach) {
    const Topology topology = demo_topology();
    const auto parts = shared(topology, SharePolicy::per_job,
                              {job_of(topology, {"a0", "b0"}), job_of(topology, {"a1", "a2", "b1"})});
    EXPECT_EQ(parts[0], (std::vector{LinkPart{}, half})) << "their hosts' own links they do not share";
    EXPECT_EQ(parts[1], (std::vector{LinkPart{}, half}));
    EXPECT_EQ(part_of(std::nullopt, half, {2'500'000}), BytesPerSecond{1'250'000});
}

TEST(JobShares, WeightsAndHostsCountAsThePolicySays) {
    const Topology topology = demo_topology();
    const std::vector jobs{job_of(topology, {"a0", "b0"}, 3), job_of(topology, {"a1", "a2", "a3", "b1"})};
    EXPECT_EQ(shared(topology, SharePolicy::per_job, jobs)[0][1].value, LinkPart::one / 4 * 3);
    EXPECT_EQ(shared(topology, SharePolicy::per_job, jobs)[1][1].value, LinkPart::one / 4);
    // one host of two on b's side, one of four on a's: the less counts
    EXPECT_EQ(shared(topology, SharePolicy::per_host, jobs)[0][1].value, LinkPart::one / 4);
    EXPECT_EQ(shared(topology, SharePolicy::per_host, jobs)[1][1].value, LinkPart::one / 2);
}

TEST(JobShares, JobsOfOneAllocationDivideWhatOneJobWouldHave) {
    const Topology topology = demo_topology();
    std::vector jobs{job_of(topology, {"a0", "b0"}, 3), job_of(topology, {"a1", "b1"}, 3),
                     job_of(topology, {"a2", "b2"})};
    jobs[2].allocation = 1;
    const auto by_weight = shared_in_allocations(topology, SharePolicy::per_job, jobs);
    EXPECT_EQ(by_weight[0][1].value, LinkPart::one / 8 * 3);
    EXPECT_EQ(by_weight[1][1].value, LinkPart::one / 8 * 3);
    EXPECT_EQ(by_weight[2][1].value, LinkPart::one / 4) << "whatever the other is divided into";
    EXPECT_EQ(by_weight[0][0], LinkPart{}) << "each has its hosts' links to itself";
}

TEST(JobShares, JobsOfOneAllocationOnOneHostAreOneJobOfTheHost) {
    const Topology topology = demo_topology();
    std::vector jobs{job_of(topology, {"a0", "b0"}), job_of(topology, {"a0", "b0"}),
                     job_of(topology, {"a0", "b0"})};
    jobs[2].allocation = 1;
    for (const SharePolicy policy : {SharePolicy::per_job, SharePolicy::per_host}) {
        const auto parts = shared_in_allocations(topology, policy, jobs);
        for (const std::size_t direction : {0U, 1U}) {
            EXPECT_EQ(parts[0][direction].value, LinkPart::one / 4);
            EXPECT_EQ(parts[1][direction].value, LinkPart::one / 4);
            EXPECT_EQ(parts[2][direction].value, LinkPart::one / 2);
        }
    }
}

TEST(JobShares, JobsThatMeetNowhereHaveAll) {
    const Topology topology = two_level_topology(50);
    const auto parts = shared(topology, SharePolicy::per_job,
                              {job_of(topology, {"a0", "b0"}), job_of(topology, {"c0", "d0"})});
    EXPECT_EQ(parts[0], std::vector(4, LinkPart{}));
    const auto above = shared(topology, SharePolicy::per_job,
                              {job_of(topology, {"a0", "c0"}), job_of(topology, {"b0", "d0"})});
    EXPECT_EQ(above[0], (std::vector{LinkPart{}, LinkPart{}, half, half}))
        << "the switches' trunks are both jobs', those below are not";
}

// Who starts many jobs has no more of a link; users count by their greatest weight.
TEST(JobShares, UsersComeBeforeTheirJobs) {
    const Topology topology = demo_topology();
    std::vector<SharingJob> jobs;
    for (int i = 0; i < 4; ++i) jobs.push_back(job_of(topology, {"a0", "b0"}));
    jobs[3].user = 1;
    for (const SharePolicy policy : {SharePolicy::per_job, SharePolicy::per_host}) {
        const auto parts = shared(topology, policy, jobs);
        EXPECT_EQ(parts[3], std::vector(2, half));
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(parts[i][1].value, LinkPart::one / 6);
    }
    jobs[3].weight = 3;
    EXPECT_EQ(shared(topology, SharePolicy::per_job, jobs)[3][1].value, LinkPart::one / 4 * 3);
    jobs[0].weight = 3;
    const auto parts = shared(topology, SharePolicy::per_job, jobs);
    EXPECT_EQ(parts[3][1], half);
    EXPECT_EQ(parts[0][1].value, LinkPart::one / 10 * 3) << "three fifths of the user's half";
}

TEST(JobShares, JobsOnOneHostShareItsLink) {
    const Topology topology = demo_topology();
    const auto parts = shared(topology, SharePolicy::per_job,
                              {job_of(topology, {"a0", "a1"}), job_of(topology, {"a0", "a2"})});
    EXPECT_EQ(parts[0], std::vector(2, half));
}

std::vector<SharingJob> random_jobs(const Topology& topology, std::mt19937& random) {
    std::vector<SharingJob> jobs;
    const std::size_t count = 1 + random() % 6;
    for (std::size_t i = 0; i < count; ++i) {
        SharingJob job{HostSet(topology.host_count()), 0, 1 + static_cast<std::uint32_t>(random() % 9), i};
        for (std::size_t host = 0; host < topology.host_count(); ++host) {
            if (random() % 3 == 0) job.hosts.add(host);
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

bool crosses(const Topology& topology, std::size_t trunk, const SharingJob& job) {
    const HostCounts counts = topology.count(job.hosts);
    const std::uint32_t below = topology.hosts_below(counts)[trunk];
    return below > 0 && below < counts.total();
}

/// Shares the trunk among the same jobs by the cluster's own arithmetic.
std::vector<std::uint64_t> by_compute_shares(const Topology& topology, std::size_t trunk,
                                             SharePolicy policy,
                                             const std::vector<SharingJob>& jobs) {
    const SharedTrunk link{{LinkPart::one}, {0}, static_cast<std::uint32_t>(topology.host_count()),
                           policy};
    std::vector<Demand> demands;
    for (std::uint32_t job = 0; job < jobs.size(); ++job) {
        if (!crosses(topology, trunk, jobs[job])) continue;
        for (std::uint32_t host = 0; host < topology.host_count(); ++host) {
            if (!topology.is_below(topology.cluster_of(host), trunk)) continue;
            if (jobs[job].hosts.contains(host)) demands.push_back({host, {0, job, ""}, jobs[job].weight});
        }
    }
    const Shares shares = compute_shares(link, demands);
    std::vector<std::uint64_t> parts(jobs.size());
    for (std::size_t i = 0; i < demands.size(); ++i) {
        parts[demands[i].job.start] += shares.of_demand[i].value;
    }
    return parts;
}

TEST(JobShares, NoTrunkIsGivenTwiceWhoeverHasTheJobs) {
    const Topology topology = two_level_topology(50);
    std::mt19937 random(12);
    for (int round = 0; round < 200; ++round) {
        auto jobs = random_jobs(topology, random);
        for (SharingJob& job : jobs) job.user = random() % 3;
        for (const SharePolicy policy : {SharePolicy::per_job, SharePolicy::per_host}) {
            for (std::size_t trunk = 0; trunk < topology.trunk_count(); ++trunk) {
                const auto parts = share_trunk(topology, trunk, policy, jobs);
                std::uint64_t sum = 0;
                for (std::size_t job = 0; job < jobs.size(); ++job) {
                    if (crosses(topology, trunk, jobs[job])) sum += parts[job].value;
                }
                ASSERT_LE(sum, LinkPart::one) << "round " << round << ", trunk " << trunk;
            }
        }
    }
}

TEST(JobShares, NoTrunkIsGivenTwiceWhateverTheJobs) {
    const Topology topology = two_level_topology(50);
    std::mt19937 random(11);
    for (int round = 0; round < 500; ++round) {
        const auto jobs = random_jobs(topology, random);
        for (const SharePolicy policy : {SharePolicy::per_job, SharePolicy::per_host}) {
            for (std::size_t trunk = 0; trunk < topology.trunk_count(); ++trunk) {
                const auto parts = share_trunk(topology, trunk, policy, jobs);
                const auto reference = by_compute_shares(topology, trunk, policy, jobs);
                std::uint64_t sum = 0;
                for (std::size_t job = 0; job < jobs.size(); ++job) {
                    if (!crosses(topology, trunk, jobs[job])) continue;
                    sum += parts[job].value;
                    EXPECT_NEAR(static_cast<double>(parts[job].value),
                                static_cast<double>(reference[job]), 200)
                        << "round " << round << ", trunk " << trunk << ", job " << job;
                }
                ASSERT_LE(sum, LinkPart::one) << "round " << round << ", trunk " << trunk;
            }
        }
    }
}

}  // namespace
}  // namespace headway::test
