// SPDX-License-Identifier: Apache-2.0
#include "kernel/device_speed.hpp"

#include <charconv>
#include <fstream>

namespace headway {

std::optional<BitsPerSecond> device_speed(const std::string& interface) {
    std::string megabits;
    std::getline(std::ifstream("/sys/class/net/" + interface + "/speed"), megabits);
    return parse_device_speed(megabits);
}

std::optional<BitsPerSecond> parse_device_speed(std::string_view megabits) {
    std::uint64_t number = 0;  // of "-1" nothing is read
    std::from_chars(megabits.data(), megabits.data() + megabits.size(), number);
    if (number == 0) return std::nullopt;
    return BitsPerSecond{number * 1'000'000};
}

}  // namespace headway
