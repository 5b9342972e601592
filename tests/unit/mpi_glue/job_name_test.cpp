// SPDX-License-Identifier: Apache-2.0
#include "job_name.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

namespace headway::glue {
namespace {

using Environment = std::map<std::string, std::string>;

/// In a process that has these variables of launchers and no others.
std::string name_with(const Environment& environment) {
    for (const char* variable :
         {"SLURM_JOB_ID", "SLURM_STEP_ID", "OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"})
        ::unsetenv(variable);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    return job_name("node.example");
}

TEST(JobName, OfAStepIsThatOfItsAllocationAndItsOwn) {
    EXPECT_EQ(name_with({{"SLURM_JOB_ID", "4711"}, {"SLURM_STEP_ID", "2"}}), "4711.2");
    EXPECT_EQ(name_with({{"SLURM_JOB_ID", "4711"},
                         {"SLURM_STEP_ID", "2"},
                         {"PMIX_NAMESPACE", "slurm.pmix.4711.2"}}),
              "4711.2");
}

TEST(JobName, OfMpirunInAnAllocationBeginsWithTheAllocation) {
    EXPECT_EQ(name_with({{"SLURM_JOB_ID", "4711"},
                         {"OMPI_MCA_ess_base_jobid", "1081409537"},
                         {"PMIX_NAMESPACE", "1081409537"}}),
              "4711.1081409537");
    EXPECT_EQ(name_with({{"SLURM_JOB_ID", "4711"}}),
              "4711.node-example-" + std::to_string(::getpid()));
}

TEST(JobName, WithoutABatchSystemIsTheLaunchers) {
    EXPECT_EQ(name_with({{"OMPI_MCA_ess_base_jobid", "1081409537"}}), "1081409537");
    EXPECT_EQ(name_with({{"PMIX_NAMESPACE", "host.example:7 @1"}}), "host-example:7_@1");
    EXPECT_EQ(name_with({}), "node-example-" + std::to_string(::getpid()));
    EXPECT_EQ(name_with({{"PMIX_NAMESPACE", std::string(500, 'x')}}), std::string(128, 'x'));
}

}  // namespace
}  // namespace headway::glue
