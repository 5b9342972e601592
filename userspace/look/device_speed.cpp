// SPDX-License-Identifier: Apache-2.0
#include "look/device_speed.hpp"

#include <charconv>
#include <fstream>

namespace headway {
namespace {

namespace fs = std::filesystem;

std::optional<BitsPerSecond> speed_in(const fs::path& device) {
    std::string megabits;
    std::getline(std::ifstream(device / "speed"), megabits);
    return parse_device_speed(megabits);
}

}  // namespace

std::optional<BitsPerSecond> device_speed(const std::string& interface) {
    return speed_in("/sys/class/net/" + interface);
}

std::optional<BitsPerSecond> speed_of_all_cards(const fs::path& devices) {
    std::error_code error;
    std::optional<BitsPerSecond> common;
    for (fs::directory_iterator entry(devices, error), end; !error && entry != end;
         entry.increment(error)) {
        const fs::path device = entry->path();
        if (!fs::exists(device / "device", error)) continue;
        const auto speed = speed_in(device);
        if (!speed) continue;  // no cable
        if (fs::exists(device / "master" / "bonding", error)) return std::nullopt;
        if (common && common != speed) return std::nullopt;
        common = speed;
    }
    return common;
}

std::optional<BitsPerSecond> parse_device_speed(std::string_view megabits) {
    std::uint64_t number = 0;  // of "-1" nothing is read
    std::from_chars(megabits.data(), megabits.data() + megabits.size(), number);
    if (number == 0) return std::nullopt;
    return BitsPerSecond{number * 1'000'000};
}

}  // namespace headway
