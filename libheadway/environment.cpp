// SPDX-License-Identifier: MIT
#include "environment.hpp"

#include <charconv>
#include <cstdlib>

namespace headway::glue {
namespace {

std::string not_understood(const char* name, std::string_view value, std::string_view expected) {
    return std::string(name) + "=" + std::string(value) + " is not understood, expected " +
           std::string(expected);
}

template <class Number>
void read_any_number(const char* name, Number least, Number most, Number& target,
                     Complaints& complaints) {
    const auto value = environment_value(name);
    if (!value) return;
    Number number = 0;
    const char* const end = value->data() + value->size();
    const auto [stopped_at, error] = std::from_chars(value->data(), end, number);
    if (error == std::errc{} && stopped_at == end && number >= least && number <= most) {
        target = number;
    } else {
        complaints.push_back(not_understood(
            name, *value, std::to_string(least) + " to " + std::to_string(most)));
    }
}

}  // namespace

std::optional<std::string_view> environment_value(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

void read_switch(const char* name, bool& target, Complaints& complaints) {
    const auto value = environment_value(name);
    if (!value) return;
    if (*value == "on" || *value == "1" || *value == "yes") {
        target = true;
    } else if (*value == "off" || *value == "0" || *value == "no") {
        target = false;
    } else {
        complaints.push_back(not_understood(name, *value, "on or off"));
    }
}

void read_number(const char* name, int least, int most, int& target, Complaints& complaints) {
    read_any_number(name, least, most, target, complaints);
}

void read_number(const char* name, std::uint64_t least, std::uint64_t most, std::uint64_t& target,
                 Complaints& complaints) {
    read_any_number(name, least, most, target, complaints);
}

void read_word(const char* name, const char* first, const char* second, bool& target,
               Complaints& complaints) {
    const auto value = environment_value(name);
    if (!value) return;
    if (*value == first || *value == second) {
        target = *value == second;
    } else {
        complaints.push_back(
            not_understood(name, *value, std::string(second) + " or " + first));
    }
}

}  // namespace headway::glue
