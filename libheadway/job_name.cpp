// SPDX-License-Identifier: MIT
#include "job_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "environment.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t name_bytes = 128;  // the protocol's limit

std::string value_of(const char* variable) {
    return std::string(environment_value(variable).value_or(""));
}

/// A point would separate an allocation from what runs in it.
std::string launch_name(const std::string& host) {
    std::string name;
    for (const char* variable : {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE"}) {
        if (name.empty()) name = value_of(variable);
    }
    if (name.empty()) name = host + "-" + std::to_string(::getpid());
    std::replace(name.begin(), name.end(), '.', '-');
    return name;
}

}  // namespace

std::string slurm_step() {
    const std::string job = value_of("SLURM_JOB_ID"), step = value_of("SLURM_STEP_ID");
    return job.empty() || step.empty() ? "" : job + "." + step;
}

std::string job_name(const std::string& host) {
    const std::string allocation = value_of("SLURM_JOB_ID");
    std::string name = slurm_step();
    if (name.empty())
        name = allocation.empty() ? launch_name(host) : allocation + "." + launch_name(host);
    std::replace_if(name.begin(), name.end(),
                    [](unsigned char c) {
                        return std::isalnum(c) == 0 && std::strchr(".:@/+-_", c) == nullptr;
                    },
                    '_');
    return name.substr(0, name_bytes);
}

}  // namespace headway::glue
