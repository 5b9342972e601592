// SPDX-License-Identifier: Apache-2.0
#include "formats/slurm_switches.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/core.h>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"

namespace headway {
namespace {

/// One switch with its lists read.
struct Switch {
    const SlurmSwitch& said;
    std::vector<std::string> switches;
    std::vector<std::string> nodes;
    std::vector<std::string> nodes_below;  ///< where it has switches, too
    BitsPerSecond rate;
};

class SwitchReader {
public:
    SwitchReader(std::string_view file, const SlurmOptions& options, FileMistakes& mistakes)
        : file_(file),
          options_(options),
          mistakes_(mistakes) {}

    FileResult<NetworkTree> read(const std::vector<SlurmSwitch>& said) {
        for (const SlurmSwitch& one : said) {
            if (mistakes_.full()) break;
            read_switch(one);
        }
        if (switches_.empty() && mistakes_.empty()) {
            tell_whole("SwitchName", "no switch is described", slurm_switch_advice);
        }
        if (!mistakes_.empty()) return mistakes_.take();
        return connect();
    }

private:
    template <class... Args>
    void tell(const SlurmSwitch& said, Args&&... args) {
        mistakes_.set_file(said.file);
        mistakes_.add(said.line, std::forward<Args>(args)...);
    }

    template <class... Args>
    void tell_whole(Args&&... args) {
        mistakes_.set_file(file_);
        mistakes_.add(0, std::forward<Args>(args)...);
    }

    void read_switch(const SlurmSwitch& said) {
        Switch one{said, {}, {}, {}, {}};
        if (said.name.empty()) {
            tell(said, "SwitchName", "it is missing", slurm_switch_advice);
        } else if (!is_plain_name(said.name)) {
            tell(said, "SwitchName", in_quotes(said.name) + " is no plain name",
                 "use letters, digits, '.', '-', '_'");
        }
        if (said.nodes) one.nodes = read_list(said, "Nodes", *said.nodes);
        if (said.switches) one.switches = read_list(said, "Switches", *said.switches);
        if (!said.nodes && !said.switches) {
            tell(said, "SwitchName",
                 fmt::format("switch \"{}\" has neither nodes nor switches", said.name),
                 "give it either Nodes or Switches, as Slurm demands");
        }
        if (said.switches) one.nodes_below = std::exchange(one.nodes, {});
        read_speed(one);
        count_ += one.nodes.size() + one.switches.size();
        if (count_ > network_nodes_max) {
            tell(said, "", fmt::format("more than {} nodes and switches", network_nodes_max),
                 "describe a smaller network");
            return;
        }
        switches_.push_back(std::move(one));
    }

    std::vector<std::string> read_list(const SlurmSwitch& said, std::string_view key,
                                       const std::string& value) {
        auto list = parse_hostlist(value);
        if (list) return std::move(*list);
        tell(said, key, list.error().message, "write names and ranges such as n[0-3,7]");
        return {"?"};
    }

    void read_speed(Switch& one) {
        const SlurmSwitch& said = one.said;
        if (!said.speed) {
            if (options_.default_rate) {
                one.rate = *options_.default_rate;
                return;
            }
            tell(said, "LinkSpeed", "it is missing, and no rate is given for such",
                 "say the rate with --default-rate, such as 1gbit");
            return;
        }
        const auto number = to_number<std::uint64_t>(*said.speed);
        const bool has_digits_only = said.speed->find_first_not_of("0123456789") == std::string::npos;
        if (!number && !said.speed->empty() && has_digits_only) {
            tell(said, "LinkSpeed", in_quotes(*said.speed) + " is more than any link has",
                 "write the number that --link-speed-unit is the unit of");
        } else if (!number || *number == 0) {
            tell(said, "LinkSpeed", in_quotes(*said.speed) + " is no positive whole number",
                 "write a number");
        } else if (!options_.link_speed_unit) {
            tell(said, "LinkSpeed", "it has no unit in this format",
                 "say the unit with --link-speed-unit, such as 1mbit");
        } else if (*number > rate_max.value / options_.link_speed_unit->value) {
            tell(said, "LinkSpeed",
                 fmt::format("{} times {} is more than {}", *number,
                             rate_to_tc(*options_.link_speed_unit), rate_to_tc(rate_max)),
                 "check --link-speed-unit");
        } else {
            one.rate = {*number * options_.link_speed_unit->value};
        }
    }

    /// Files say children, items say parents.
    FileResult<NetworkTree> connect() {
        find_parents();
        find_roots();
        if (!mistakes_.empty()) return mistakes_.take();
        std::vector<NetworkItem> items;
        std::vector<const SlurmSwitch*> said;
        for (const Switch& one : switches_) {
            NetworkItem item;
            item.name = one.said.name;
            if (const auto parent = above_.find(one.said.name); parent != above_.end()) {
                item.parent = parent->second->said.name;
                item.edge.up_rate = item.edge.down_rate = parent->second->rate;
            }
            items.push_back(std::move(item));
            said.push_back(&one.said);
            for (const std::string& node : one.nodes) {
                items.push_back({NetworkNodeKind::host,
                                 node,
                                 one.said.name,
                                 {one.rate, one.rate, {}, {}, {}},
                                 false,
                                 {}});
                said.push_back(&one.said);
            }
        }
        for (const NetworkMistake& mistake : find_mistakes(items)) {
            constexpr const char* advice =
                "a network is one tree of switches, every name used once";
            if (mistake.item == NetworkMistake::whole_network)
                tell_whole("", mistake.message, advice);
            else tell(*said[mistake.item], "", mistake.message, advice);
        }
        if (!mistakes_.empty()) return mistakes_.take();
        auto tree = NetworkTree::make(std::move(items));
        if (tree) compare_nodes_below(*tree);
        else tell_whole("", tree.error().message, "");
        if (!mistakes_.empty()) return mistakes_.take();
        return std::move(*tree);
    }

    void find_parents() {
        std::unordered_set<std::string_view> names;
        for (const Switch& one : switches_) names.insert(one.said.name);
        for (const Switch& one : switches_) {
            for (const std::string& below : one.switches) {
                const auto [entry, is_new] = above_.emplace(below, &one);
                if (!is_new) {
                    tell(one.said, "Switches",
                         fmt::format("switch \"{}\" is already below \"{}\"", below,
                                     entry->second->said.name),
                         "a network is a tree: give every switch one parent");
                } else if (!names.contains(below)) {
                    tell(one.said, "Switches",
                         fmt::format("switch \"{}\" has no line of its own", below),
                         slurm_switch_advice);
                }
            }
        }
    }

    /// Slurm takes racks that nothing joins; what passes between them is not said there.
    void find_roots() {
        std::vector<std::string> roots;
        std::unordered_set<std::string_view> names;
        for (const Switch& one : switches_) {
            if (names.insert(one.said.name).second && !above_.contains(one.said.name))
                roots.push_back(one.said.name);
        }
        if (roots.size() < 2) return;
        std::string top = "top";
        while (names.contains(top)) top += "_";
        const std::string list = format_hostlist(roots, AfterBrackets::nothing);
        tell_whole(
            "SwitchName",
            fmt::format("{} switches have no switch above them: {}", roots.size(), list),
            fmt::format("add the switch that joins them, such as SwitchName={} Switches={}{}", top,
                        list, switches_.front().said.speed ? " LinkSpeed=NUMBER" : ""));
    }

    void compare_nodes_below(const NetworkTree& tree) {
        for (const Switch& one : switches_) {
            if (!one.said.nodes || !one.said.switches) continue;
            const NetworkTree::Node here = *tree.find_switch(one.said.name);
            const auto is_below = [&](const std::string& name) {
                auto node = tree.find_host(name);
                while (node && *node != here && *node != NetworkTree::root)
                    node = tree.parent(*node);
                return node == here;
            };
            if (one.nodes_below.size() == tree.hosts_below(here) &&
                std::ranges::all_of(one.nodes_below, is_below))
                continue;
            tell(one.said, "Nodes",
                 fmt::format("switch \"{}\" has both nodes and switches, and the nodes are not "
                             "those below its switches",
                             one.said.name),
                 "give it either Nodes or Switches, as Slurm demands");
        }
    }

    std::string_view file_;
    const SlurmOptions& options_;
    FileMistakes& mistakes_;
    std::vector<Switch> switches_;
    std::unordered_map<std::string_view, const Switch*> above_;
    std::size_t count_ = 0;
};

}  // namespace

FileResult<NetworkTree> tree_of_slurm(const std::vector<SlurmSwitch>& switches,
                                      std::string_view file, const SlurmOptions& options,
                                      FileMistakes& mistakes) {
    return SwitchReader(file, options, mistakes).read(switches);
}

}  // namespace headway
