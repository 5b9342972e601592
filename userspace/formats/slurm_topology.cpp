// SPDX-License-Identifier: Apache-2.0
#include "formats/slurm_topology.hpp"

#include <algorithm>

#include "base/text_lines.hpp"
#include "formats/slurm_lines.hpp"
#include "formats/slurm_switches.hpp"

namespace headway {
namespace {

/// Its member for a key; null: there is no such key.
std::optional<std::string>* member_of(SlurmSwitch& one, std::string_view key) {
    if (is_same_word(key, "Nodes")) return &one.nodes;
    if (is_same_word(key, "Switches")) return &one.switches;
    if (is_same_word(key, "LinkSpeed")) return &one.speed;
    return nullptr;
}

SlurmSwitch switch_of(const SlurmLine& line, FileMistakes& mistakes) {
    mistakes.set_file(line.file);
    SlurmSwitch one{line.file, line.number, {}, {}, {}, {}};
    for (auto pair = line.pairs.begin(); pair != line.pairs.end(); ++pair) {
        const auto& [key, value] = *pair;
        const bool is_twice = std::any_of(
            line.pairs.begin(), pair,
            [&, &name = key](const auto& other) { return is_same_word(other.first, name); });
        if (is_twice)
            mistakes.add(line.number, in_quotes(key), "it is given twice", "give every key once");
        else if (is_same_word(key, "SwitchName")) one.name = value;
        else if (auto* const member = member_of(one, key)) *member = value;
        else if (!is_same_word(key, "Level"))  // scontrol's
            mistakes.add(line.number, in_quotes(key), "unknown key", slurm_switch_advice);
    }
    return one;
}

bool is_of_blocks(const SlurmLine& line) {
    return std::ranges::any_of(line.pairs, [](const auto& pair) {
        return is_same_word(pair.first, "BlockName") || is_same_word(pair.first, "BlockSizes");
    });
}

bool is_yaml(std::string_view text) {
    for (TextLines lines(text); lines.next();) {
        const auto line = trimmed(lines.line());
        if (!line.empty() && !line.starts_with('#'))
            return line.starts_with("---") || line.starts_with("- ");
    }
    return false;
}

}  // namespace

FileResult<NetworkTree> read_slurm_topology(std::string_view text, std::string_view file,
                                            const SlurmOptions& options) {
    FileMistakes mistakes(file);
    if (is_yaml(text)) {
        mistakes.add(0, "", "it is Slurm's topology.yaml",
                     "name it .yaml, or say --from slurm-yaml");
        return mistakes.take();
    }
    const auto lines =
        read_slurm_lines(text, file, options.read_file, slurm_switch_advice, mistakes);
    if (const auto block = std::ranges::find_if(lines, is_of_blocks); block != lines.end()) {
        FileMistakes told(block->file);
        told.add(block->number, block->pairs.front().first,
                 "topology/block says which nodes are near each other, but no switch",
                 slurm_tree_advice);
        return told.take();
    }
    std::vector<SlurmSwitch> switches;
    for (const SlurmLine& line : lines) switches.push_back(switch_of(line, mistakes));
    return tree_of_slurm(switches, file, options, mistakes);
}

}  // namespace headway
