// SPDX-License-Identifier: MIT
#include "json_object.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace headway::glue {
namespace {

constexpr std::size_t path_max_bytes = 256;

template <class Type>
std::optional<Type> copy_of(const Type* value) {
    return value != nullptr ? std::optional(*value) : std::nullopt;
}

}  // namespace

/// nlohmann's parser calls these functions; the first that returns false ends it.
class JsonObject::Reader {
public:
    explicit Reader(const Take& take) : take_(take) {}

    /// Returns the outermost object.
    [[nodiscard]] JsonObject result() && { return std::move(outermost_); }

    bool null() { return put(Null{}); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(static_cast<double>(value)); }  // below 0
    bool number_unsigned(std::uint64_t value) {
        if (List* const list = open_list()) list->numbers.push_back(value);
        return put(value);
    }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& value) {
        if (List* const list = open_list()) list->texts.push_back(value);
        return put(value);
    }
    bool binary(nlohmann::json::binary_t&) { return false; }

    bool start_object(std::size_t) {
        const bool is_item = lists_ > 0;
        if (!is_item && !objects_.empty()) put(Object{});
        objects_.push_back({path_.size(), lists_});
        if (is_item) {
            ++open_list()->size;
            items_.push_back({{}, path_.size() + 1});
        }
        lists_ = 0;
        return true;
    }
    bool key(std::string& name) {
        path_.resize(objects_.back().path_bytes);
        if (objects_.size() > 1) path_ += '.';
        path_ += name;
        return path_.size() <= path_max_bytes;
    }
    bool end_object() {
        path_.resize(objects_.back().path_bytes);
        lists_ = objects_.back().lists_around;
        objects_.pop_back();
        if (lists_ == 0) return true;
        const JsonObject item = std::move(items_.back().object);
        items_.pop_back();
        if (take_) take_(path_, item);
        return true;
    }
    bool start_array(std::size_t) {
        if (lists_ == 0 && !put(List{})) return false;
        ++lists_;
        return true;
    }
    bool end_array() {
        --lists_;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const std::exception&) { return false; }

private:
    struct Open {
        std::size_t path_bytes;  ///< of the object's own path
        int lists_around;
    };
    /// An object that is in a list.
    struct Item {
        JsonObject object;
        std::size_t prefix_bytes;  ///< of a path from the outermost object on, which the item's own are without
    };

    [[nodiscard]] auto& members() { return items_.empty() ? outermost_.members_ : items_.back().object.members_; }
    [[nodiscard]] std::string_view own_path() const {
        return std::string_view(path_).substr(items_.empty() ? 0 : items_.back().prefix_bytes);
    }
    /// Null: no list is open.
    [[nodiscard]] List* open_list() {
        return lists_ > 0 ? std::get_if<List>(&members().find(own_path())->second) : nullptr;
    }
    /// Puts a value into the open object, or counts it in the open list; outside of an object it
    /// fails.
    bool put(Value value) {
        if (objects_.empty()) return false;
        if (List* const list = open_list())
            ++list->size;
        else
            members().insert_or_assign(std::string(own_path()), std::move(value));
        return true;
    }

    const Take& take_;
    JsonObject outermost_;
    std::string path_;
    std::vector<Open> objects_;
    std::vector<Item> items_;
    int lists_ = 0;  ///< that are open in the innermost object
};

std::optional<JsonObject> JsonObject::read(std::string text, const Take& take) {
    Reader reader(take);
    if (!nlohmann::json::sax_parse(text, &reader)) return std::nullopt;
    JsonObject object = std::move(reader).result();
    object.received_ = std::move(text);
    return object;
}

template <class Type>
const Type* JsonObject::find(std::string_view path) const {
    const auto found = members_.find(path);
    return found != members_.end() ? std::get_if<Type>(&found->second) : nullptr;
}

bool JsonObject::has(std::string_view path) const { return members_.contains(path) && !is_null(path); }
bool JsonObject::is_null(std::string_view path) const { return find<Null>(path) != nullptr; }
std::optional<bool> JsonObject::flag(std::string_view path) const { return copy_of(find<bool>(path)); }
std::optional<std::uint64_t> JsonObject::whole_number(std::string_view path) const {
    return copy_of(find<std::uint64_t>(path));
}
std::optional<std::string> JsonObject::text(std::string_view path) const { return copy_of(find<std::string>(path)); }
std::optional<std::size_t> JsonObject::list_size(std::string_view path) const {
    const List* const list = find<List>(path);
    return list != nullptr ? std::optional(list->size) : std::nullopt;
}

std::optional<double> JsonObject::number(std::string_view path) const {
    if (const auto whole = whole_number(path)) return static_cast<double>(*whole);
    return copy_of(find<double>(path));
}

std::vector<std::string> JsonObject::texts(std::string_view path) const {
    const List* const list = find<List>(path);
    return list != nullptr ? list->texts : std::vector<std::string>();
}

std::vector<std::uint64_t> JsonObject::whole_numbers(std::string_view path) const {
    const List* const list = find<List>(path);
    return list != nullptr ? list->numbers : std::vector<std::uint64_t>();
}

}  // namespace headway::glue
