// SPDX-License-Identifier: Apache-2.0
#include "base/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/units.hpp"

namespace headway {
namespace {

constexpr std::size_t number_digits_max = 18;
constexpr std::size_t groups_max = 8;

struct NumberRange {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    int width = 0;  ///< digits to pad to
};

constexpr std::string_view name_chars =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

/// Reads one item ("a[0-3]n[1,2]") and expands it.
class ItemParser {
public:
    ItemParser(std::string_view item, std::size_t limit) : item_(item), limit_(limit) {}

    Result<std::vector<std::string>> expand() {
        while (!rest_.empty()) {
            const auto more = rest_.front() == '[' ? take_group() : take_literal();
            if (!more) return tl::unexpected(more.error());
        }
        std::vector<std::string> names(names_);
        for (std::size_t number = 0; number < names_; ++number) {
            std::string& name = names[number] = name_of(number);
            if (name.size() > host_name_max_bytes) return too_long();
            if (name.find_first_of(".-") == 0) {
                return failure("\"{}\" does not start with a letter, a digit or '_'", name);
            }
        }
        return names;
    }

private:
    /// The text in front of a group, and all the numbers that the group stands for.
    struct Group {
        std::string before;
        std::vector<std::string> numbers;
    };

    [[nodiscard]] tl::unexpected<Error> too_long() const {
        return failure("\"{}...\" is longer than {} characters", item_.substr(0, 20),
                       host_name_max_bytes);
    }

    /// A short list may be a client's who wants long work done: what no name can be is not expanded.
    Result<void> take_literal() {
        const auto literal = rest_.substr(0, rest_.find_first_not_of(name_chars));
        if (literal.empty()) {
            return failure("\"{}\" has a character that no host name has: '{}'", item_,
                           rest_.front());
        }
        rest_.remove_prefix(literal.size());
        tail_ += literal;
        literal_bytes_ += literal.size();
        if (literal_bytes_ > host_name_max_bytes) return too_long();
        return {};
    }

    Result<void> take_group() {
        if (groups_.size() == groups_max)
            return failure("\"{}...\" has more than {} brackets", item_.substr(0, 20), groups_max);
        const auto close = rest_.find(']');
        if (close == std::string_view::npos) {
            return failure("\"{}\" has a '[' without a ']'", item_);
        }
        const auto ranges = parse_ranges(rest_.substr(1, close - 1));
        if (!ranges) return tl::unexpected(ranges.error());
        rest_.remove_prefix(close + 1);

        std::uint64_t count = 0;
        for (const NumberRange& range : *ranges) {
            if (range.last - range.first < limit_) count += range.last - range.first + 1;
            else count = limit_ + 1;
            if (count * names_ > limit_)
                return failure("\"{}\" stands for more than {} hosts", item_, limit_);
        }
        names_ *= static_cast<std::size_t>(count);
        Group& group = groups_.emplace_back();
        group.before = std::exchange(tail_, {});
        for (const NumberRange& range : *ranges) {
            for (std::uint64_t n = range.first; n <= range.last; ++n) {
                group.numbers.push_back(fmt::format("{:0{}}", n, range.width));
            }
        }
        return {};
    }

    /// Returns the name of the combination with that number, in Slurm's order.
    [[nodiscard]] std::string name_of(std::size_t number) const {
        std::vector<std::size_t> chosen(groups_.size());
        for (std::size_t turn = 0; turn < groups_.size(); ++turn) {
            const std::size_t group = turn == 0 ? groups_.size() - 1 : turn - 1;
            chosen[group] = number % groups_[group].numbers.size();
            number /= groups_[group].numbers.size();
        }
        std::string name;
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            name += groups_[group].before;
            name += groups_[group].numbers[chosen[group]];
        }
        return name + tail_;
    }

    Result<std::vector<NumberRange>> parse_ranges(std::string_view text) const {
        std::vector<NumberRange> ranges;
        while (true) {
            const auto comma = std::min(text.find(','), text.size());
            const auto range = parse_range(text.substr(0, comma));
            if (!range) return tl::unexpected(range.error());
            ranges.push_back(*range);
            if (comma == text.size()) return ranges;
            text.remove_prefix(comma + 1);
        }
    }

    Result<NumberRange> parse_range(std::string_view text) const {
        const auto dash = text.find('-');
        const std::string_view first = text.substr(0, dash);
        const std::string_view last =
            dash == std::string_view::npos ? first : text.substr(dash + 1);
        NumberRange range;
        if (!parse_number(first, range.first) || !parse_number(last, range.last)) {
            return failure("\"{}\": \"{}\" is neither a number nor a range such as 0-3", item_,
                           text);
        }
        if (range.first > range.last) {
            return failure("\"{}\": the range {} runs backwards", item_, text);
        }
        range.width = static_cast<int>(first.size());
        return range;
    }

    static bool parse_number(std::string_view text, std::uint64_t& number) {
        if (text.empty() || text.size() > number_digits_max) return false;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc{} && end == text.data() + text.size();
    }

    std::string_view item_;
    std::string_view rest_ = item_;
    std::size_t limit_;
    std::size_t names_ = 1;
    std::vector<Group> groups_;
    std::string tail_;  ///< what follows the last group so far
    std::size_t literal_bytes_ = 0;
};

/// Cuts off everything up to the next separator that stands outside brackets.
std::string_view take_item(std::string_view& text) {
    std::size_t end = 0;
    for (bool in_brackets = false; end < text.size(); ++end) {
        if (text[end] == '[') in_brackets = true;
        if (text[end] == ']') in_brackets = false;
        if (!in_brackets && hostlist_separators.find(text[end]) != std::string_view::npos) break;
    }
    const auto item = text.substr(0, end);
    text.remove_prefix(end);
    return item;
}

/// A name cut at its last number: "n", "008", "-ib".  No number: all in front.
struct NumberedName {
    std::string_view before;
    std::string_view digits;
    std::string_view after;
    std::uint64_t number = 0;

    explicit NumberedName(std::string_view name) : before(name) {
        std::size_t end = name.size();
        while (end > 0 && !is_digit(name[end - 1])) --end;
        std::size_t begin = end;
        while (begin > 0 && is_digit(name[begin - 1])) --begin;
        if (begin == end || end - begin > number_digits_max) return;
        before = name.substr(0, begin);
        digits = name.substr(begin, end - begin);
        after = name.substr(end);
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    }

    [[nodiscard]] bool is_padded() const { return digits.size() > 1 && digits.front() == '0'; }

    /// Can stand in the same brackets: widths differ only without leading zeros.
    [[nodiscard]] bool goes_with(const NumberedName& other) const {
        return !digits.empty() && !other.digits.empty() && before == other.before &&
               after == other.after;
    }
    /// The next of one range.  A range that starts with a zero keeps its width.
    [[nodiscard]] bool follows(const NumberedName& last, bool range_is_padded) const {
        return number == last.number + 1 &&
               (range_is_padded ? digits.size() == last.digits.size() : !is_padded());
    }
};

/// "0-3,7" of names that go together.
std::string format_ranges(std::span<const std::string> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size();) {
        const NumberedName first(names[i]);
        std::size_t end = i + 1;
        while (end < names.size() &&
               NumberedName(names[end]).follows(NumberedName(names[end - 1]), first.is_padded())) {
            ++end;
        }
        if (!text.empty()) text += ',';
        text += first.digits;
        if (end - i > 1) text += fmt::format("-{}", NumberedName(names[end - 1]).digits);
        i = end;
    }
    return text;
}

}  // namespace

std::string format_hostlist(std::span<const std::string> hosts, AfterBrackets after) {
    std::string text;
    for (std::size_t i = 0; i < hosts.size();) {
        const NumberedName first(hosts[i]);
        std::size_t end = i + 1;
        if (after == AfterBrackets::anything || first.after.empty()) {
            while (end < hosts.size() && NumberedName(hosts[end]).goes_with(first)) ++end;
        }
        if (!text.empty()) text += ',';
        if (end - i == 1) {
            text += hosts[i];
        } else {
            text += fmt::format("{}[{}]{}", first.before, format_ranges(hosts.subspan(i, end - i)),
                                first.after);
        }
        i = end;
    }
    return text;
}

Result<std::vector<std::string>> parse_hostlist(std::string_view text, std::size_t limit) {
    std::vector<std::string> hosts;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(hostlist_separators), text.size()));
        if (text.empty()) break;
        auto names = ItemParser(take_item(text), limit).expand();
        if (!names) return tl::unexpected(names.error());
        if (hosts.size() + names->size() > limit) {
            return failure("the list has more than {} hosts", limit);
        }
        hosts.insert(hosts.end(), std::make_move_iterator(names->begin()),
                     std::make_move_iterator(names->end()));
    }
    if (hosts.empty()) return failure("the list names no host");
    return hosts;
}

namespace {

std::string_view without_number(std::string_view name) {
    name = name.substr(0, name.find_first_of("0123456789"));
    const auto last = name.find_last_not_of("-_.");
    return name.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

std::string common_name(std::span<const std::string> hosts) {
    if (hosts.empty()) return "";
    const std::string_view common = without_number(hosts.front());
    const bool is_common = std::ranges::all_of(
        hosts, [&](const std::string& name) { return without_number(name) == common; });
    return is_common ? std::string(common) : "";
}

}  // namespace headway
