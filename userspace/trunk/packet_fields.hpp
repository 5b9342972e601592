// SPDX-License-Identifier: Apache-2.0
// Reading the JSON objects that headwayd and headway-etcd send each other, and records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hostlist.hpp"
#include "base/json.hpp"
#include "trunk/store_link.hpp"

namespace headway {

/// Parses a packet; one that is no object has no members.
[[nodiscard]] inline nlohmann::json parse_packet(std::string_view packet) {
    if (packet.size() > store_packet_max_bytes) return {};
    return parse_json<nlohmann::json>(packet);
}

/// Reads an object's members; remembers whether all were as they should be.
class PacketFields {
public:
    explicit PacketFields(const nlohmann::json& object) : object_(object) {}

    /// 0 .. 2^63 - 1.
    std::int64_t number(const char* key) {
        const auto& value = at(key);
        const auto number = value.is_number_unsigned() ? value.get<std::uint64_t>() : UINT64_MAX;
        return take<std::int64_t>(value, number <= std::uint64_t{INT64_MAX});
    }
    bool flag(const char* key) { return take<bool>(at(key), at(key).is_boolean()); }
    std::string text(const char* key, std::size_t max_bytes) {
        const auto& value = at(key);
        return take<std::string>(
            value, value.is_string() && value.get_ref<const std::string&>().size() <= max_bytes);
    }
    std::string word(const char* key) { return text(key, word_max_bytes); }
    std::string host() { return text("host", host_name_max_bytes); }
    std::string record() { return text("record", record_text_max_bytes); }
    const nlohmann::json& list(const char* key) {
        good_ = good_ && at(key).is_array();
        return at(key);
    }

    [[nodiscard]] bool good() const { return good_; }

private:
    static constexpr std::size_t word_max_bytes = 32;

    /// Null if there is no such member.
    [[nodiscard]] const nlohmann::json& at(const char* key) const {
        static const nlohmann::json none;
        const auto found = object_.find(key);
        return found == object_.end() ? none : *found;
    }
    template <class Value>
    Value take(const nlohmann::json& value, bool is_good) {
        good_ = good_ && is_good;
        return is_good ? value.get<Value>() : Value{};
    }

    const nlohmann::json& object_;
    bool good_ = true;
};

}  // namespace headway
