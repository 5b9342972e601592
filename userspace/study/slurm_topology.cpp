// SPDX-License-Identifier: Apache-2.0
#include "study/slurm_topology.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "study/file_mistakes.hpp"

namespace headway {
namespace {

constexpr const char* switch_advice =
    "write SwitchName=NAME with Nodes=LIST or Switches=LIST, and perhaps LinkSpeed=NUMBER";

bool is_same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

/// One switch as its line says it.
struct SwitchLine {
    std::uint32_t line = 0;
    std::string name;
    std::vector<std::string> switches;
    std::vector<std::string> nodes;
    BitsPerSecond rate;
};

class SlurmReader {
public:
    SlurmReader(std::string_view file, const SlurmOptions& options)
        : mistakes_(file), options_(options) {}

    FileResult<NetworkTree> read(std::string_view text) {
        TextLines lines(text);
        while (lines.next() && !mistakes_.full()) {
            const std::uint32_t first = lines.number();
            std::string whole(without_comment(lines.line()));
            while (whole.ends_with('\\')) {
                whole.back() = ' ';
                if (!lines.next()) break;
                whole += without_comment(lines.line());
            }
            const auto words = split_words(whole);
            if (!words.empty()) read_line(first, words);
        }
        if (switches_.empty() && mistakes_.empty()) {
            mistakes_.add(0, "SwitchName", "no switch is described", switch_advice);
        }
        if (!mistakes_.empty()) return mistakes_.take();
        return connect();
    }

private:
    static std::string_view without_comment(std::string_view line) {
        line = line.substr(0, line.find('#'));
        const auto end = line.find_last_not_of(" \t");
        return end == std::string_view::npos ? std::string_view() : line.substr(0, end + 1);
    }

    void read_line(std::uint32_t line, const std::vector<std::string_view>& words) {
        SwitchLine one;
        one.line = line;
        std::optional<std::string_view> speed;
        std::vector<std::string_view> seen;
        for (const std::string_view word : words) {
            const auto equals = word.find('=');
            const std::string_view key = word.substr(0, equals);
            if (equals == std::string_view::npos) {
                mistakes_.add(line, "", in_quotes(word) + " is no KEY=VALUE", switch_advice);
                return;
            }
            const std::string_view value = word.substr(equals + 1);
            if (std::any_of(seen.begin(), seen.end(),
                            [&](std::string_view other) { return is_same_word(other, key); })) {
                mistakes_.add(line, in_quotes(key), "it is given twice", "give every key once");
                return;
            }
            seen.push_back(key);
            if (is_same_word(key, "SwitchName")) read_name(line, value, one);
            else if (is_same_word(key, "Nodes")) read_list(line, "Nodes", value, one.nodes);
            else if (is_same_word(key, "Switches")) read_list(line, "Switches", value, one.switches);
            else if (is_same_word(key, "LinkSpeed")) speed = value;
            else mistakes_.add(line, in_quotes(key), "unknown key", switch_advice);
        }
        if (one.name.empty()) {
            mistakes_.add(line, "SwitchName", "it is missing", switch_advice);
        } else if (one.nodes.empty() == one.switches.empty()) {
            mistakes_.add(line, "SwitchName",
                          fmt::format("switch \"{}\" has {} nodes {} switches", one.name,
                                      one.nodes.empty() ? "neither" : "both",
                                      one.nodes.empty() ? "nor" : "and"),
                          "give it either Nodes or Switches, as Slurm demands");
        }
        read_speed(speed, one);
        count_ += one.nodes.size() + one.switches.size();
        if (count_ > network_nodes_max) {
            mistakes_.add(line, "", fmt::format("more than {} nodes and switches",
                                                network_nodes_max), "describe a smaller network");
            return;
        }
        switches_.push_back(std::move(one));
    }

    void read_name(std::uint32_t line, std::string_view value, SwitchLine& one) {
        if (!is_plain_name(value)) {
            mistakes_.add(line, "SwitchName", in_quotes(value) + " is no plain name",
                          "use letters, digits, '.', '-', '_'");
            one.name = "?";
            return;
        }
        one.name = value;
    }

    void read_list(std::uint32_t line, std::string_view key, std::string_view value,
                   std::vector<std::string>& names) {
        auto list = parse_hostlist(value);
        if (list) {
            names = std::move(*list);
            return;
        }
        mistakes_.add(line, key, list.error().message, "write names and ranges such as n[0-3,7]");
        names.assign(1, "?");
    }

    void read_speed(const std::optional<std::string_view>& speed, SwitchLine& one) {
        if (!speed) {
            if (options_.default_rate) {
                one.rate = *options_.default_rate;
                return;
            }
            mistakes_.add(one.line, "LinkSpeed", "it is missing, and no rate is given for such",
                          "say the rate with --default-rate, such as 1gbit");
            return;
        }
        const auto number = to_number<std::uint64_t>(*speed);
        if (!number || *number == 0) {
            mistakes_.add(one.line, "LinkSpeed", in_quotes(*speed) + " is no positive whole number",
                          "write a number");
        } else if (!options_.link_speed_unit) {
            mistakes_.add(one.line, "LinkSpeed", "it has no unit in this format",
                          "say the unit with --link-speed-unit, such as 1mbit");
        } else if (*number > rate_max.value / options_.link_speed_unit->value) {
            mistakes_.add(one.line, "LinkSpeed",
                          fmt::format("{} times {} is more than {}", *number,
                                      rate_to_tc(*options_.link_speed_unit), rate_to_tc(rate_max)),
                          "check --link-speed-unit");
        } else {
            one.rate = {*number * options_.link_speed_unit->value};
        }
    }

    /// Lines say children, items say parents.
    FileResult<NetworkTree> connect() {
        struct Above {
            const SwitchLine* line;
        };
        std::unordered_map<std::string_view, Above> above;
        for (const SwitchLine& one : switches_) {
            for (const std::string& below : one.switches) {
                const auto [entry, is_new] = above.emplace(below, Above{&one});
                if (is_new) continue;
                mistakes_.add(one.line, "Switches",
                              fmt::format("switch \"{}\" is already below \"{}\"", below,
                                          entry->second.line->name),
                              "a network is a tree: give every switch one parent");
            }
        }
        std::vector<NetworkItem> items;
        std::vector<std::uint32_t> lines;
        for (const SwitchLine& one : switches_) {
            NetworkItem item;
            item.name = one.name;
            const auto parent = above.find(one.name);
            if (parent != above.end()) {
                item.parent = parent->second.line->name;
                item.edge.up_rate = item.edge.down_rate = parent->second.line->rate;
                above.erase(parent);
            }
            items.push_back(std::move(item));
            lines.push_back(one.line);
            for (const std::string& node : one.nodes) {
                items.push_back({NetworkNodeKind::host, node, one.name,
                                 {one.rate, one.rate, {}, {}, {}}, false, {}});
                lines.push_back(one.line);
            }
        }
        for (const SwitchLine& one : switches_) {
            for (const std::string& below : one.switches) {
                const auto left = above.find(below);
                if (left == above.end() || left->second.line != &one) continue;
                mistakes_.add(one.line, "Switches",
                              fmt::format("switch \"{}\" has no line of its own", below),
                              switch_advice);
            }
        }
        for (const NetworkMistake& mistake : find_mistakes(items)) {
            const bool is_whole = mistake.item == NetworkMistake::whole_network;
            mistakes_.add(is_whole ? 0 : lines[mistake.item], "", mistake.message,
                          "a network is one tree of switches, every name used once");
        }
        if (!mistakes_.empty()) return mistakes_.take();
        auto tree = NetworkTree::make(std::move(items));
        if (tree) return std::move(*tree);
        mistakes_.add(0, "", tree.error().message, "");
        return mistakes_.take();
    }

    FileMistakes mistakes_;
    const SlurmOptions& options_;
    std::vector<SwitchLine> switches_;
    std::size_t count_ = 0;
};

}  // namespace

FileResult<NetworkTree> read_slurm_topology(std::string_view text, std::string_view file,
                                            const SlurmOptions& options) {
    return SlurmReader(file, options).read(text);
}

}  // namespace headway
