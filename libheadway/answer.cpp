// SPDX-License-Identifier: MIT
#include "answer.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace headway::glue {
namespace {

constexpr std::size_t path_max_bytes = 256;

}  // namespace

/// What nlohmann's parser calls; false ends it.
class Answer::Reader {
public:
    explicit Reader(Answer& answer) : answer_(answer) {}

    bool null() { return put(Null{}); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(static_cast<double>(value)); }  // below 0
    bool number_unsigned(std::uint64_t value) { return put(value); }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& value) {
        if (in_list_ == 1) std::get<Texts>(answer_.members_[path_]).push_back(value);
        return put(value);
    }
    bool binary(nlohmann::json::binary_t&) { return false; }

    bool start_object(std::size_t) {
        if (in_list_ > 0) return ++in_list_ > 0;
        if (!objects_.empty()) put(Object{});
        objects_.push_back(path_.size());
        return true;
    }
    bool key(std::string& name) {
        if (in_list_ > 0) return true;
        path_.resize(objects_.back());
        if (objects_.size() > 1) path_ += '.';
        path_ += name;
        return path_.size() <= path_max_bytes;
    }
    bool end_object() {
        if (in_list_ > 0) return --in_list_ > 0;
        objects_.pop_back();
        return true;
    }
    bool start_array(std::size_t) {
        if (!put(Texts{})) return false;
        return ++in_list_ > 0;
    }
    bool end_array() { return --in_list_ >= 0; }
    bool parse_error(std::size_t, const std::string&, const std::exception&) { return false; }

private:
    /// Not what is outside of the object.
    bool put(Value value) {
        if (objects_.empty()) return false;
        if (in_list_ == 0) answer_.members_.insert_or_assign(path_, std::move(value));
        return true;
    }

    Answer& answer_;
    std::string path_;
    std::vector<std::size_t> objects_;  ///< that are open: of each the length of its own path
    int in_list_ = 0;                   ///< lists, and objects in lists, that are open
};

std::optional<Answer> Answer::read(std::string text) {
    Answer answer;
    answer.received_ = std::move(text);
    Reader reader(answer);
    if (!nlohmann::json::sax_parse(answer.received_, &reader)) return std::nullopt;
    return answer;
}

template <class Type>
std::optional<Type> Answer::find(std::string_view path) const {
    const auto found = members_.find(path);
    const Type* const value = found != members_.end() ? std::get_if<Type>(&found->second) : nullptr;
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

bool Answer::has(std::string_view path) const { return members_.contains(path) && !is_null(path); }
bool Answer::is_null(std::string_view path) const { return find<Null>(path).has_value(); }
std::optional<bool> Answer::flag(std::string_view path) const { return find<bool>(path); }
std::optional<std::uint64_t> Answer::whole_number(std::string_view path) const { return find<std::uint64_t>(path); }
std::optional<std::string> Answer::text(std::string_view path) const { return find<std::string>(path); }
std::vector<std::string> Answer::texts(std::string_view path) const { return find<Texts>(path).value_or(Texts{}); }

std::optional<double> Answer::number(std::string_view path) const {
    if (const auto whole = whole_number(path)) return static_cast<double>(*whole);
    return find<double>(path);
}

}  // namespace headway::glue
