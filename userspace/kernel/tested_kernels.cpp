// SPDX-License-Identifier: Apache-2.0
#include "kernel/tested_kernels.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <fmt/format.h>

namespace headway {
namespace {

struct Releases {
    int major, first_minor, last_minor;
};

// As packaging/dkms/dkms.conf; tests/systems/test_systems.py holds both to the kernels of releases.toml.
constexpr Releases tested[] = {{6, 1, 12}, {7, 3, 3}};

std::string text_of(const Releases& releases) {
    const std::string first = fmt::format("{}.{}", releases.major, releases.first_minor);
    return releases.first_minor == releases.last_minor
               ? first
               : fmt::format("{} to {}.{}", first, releases.major, releases.last_minor);
}

}  // namespace

bool is_tested_kernel(std::string_view release) {
    int major = 0, minor = 0;
    if (std::sscanf(std::string(release).c_str(), "%d.%d", &major, &minor) != 2) return false;
    return std::any_of(std::begin(tested), std::end(tested), [&](const Releases& one) {
        return major == one.major && minor >= one.first_minor && minor <= one.last_minor;
    });
}

std::string why_kernel_is_not_tested(std::string_view release) {
    if (is_tested_kernel(release)) return "";
    std::string all;
    for (const Releases& one : tested) all += (all.empty() ? "" : " and ") + text_of(one);
    return fmt::format("the module is tested with Linux {}, and this is Linux {}", all, release);
}

std::string running_kernel() {
    utsname system{};
    return ::uname(&system) == 0 ? system.release : "";
}

}  // namespace headway
