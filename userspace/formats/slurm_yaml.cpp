// SPDX-License-Identifier: Apache-2.0
// topology.yaml of Slurm.
#include <algorithm>

#include <yaml-cpp/yaml.h>

#include "base/text_lines.hpp"
#include "formats/slurm_switches.hpp"

namespace headway {
namespace {

class YamlReader {
public:
    YamlReader(std::string_view file, const SlurmOptions& options)
        : file_(file),
          options_(options),
          mistakes_(file) {}

    FileResult<NetworkTree> read(std::string_view text) {
        try {
            read_document(YAML::Load(std::string(text)));
        } catch (const YAML::Exception& error) {
            mistakes_.add(error.mark.is_null() ? 0 : line_of(error.mark), "", error.msg,
                          "see Slurm's topology.yaml(5)");
        }
        if (!mistakes_.empty()) return mistakes_.take();
        return tree_of_slurm(switches_, file_, options_, mistakes_);
    }

private:
    static std::uint32_t line_of(const YAML::Mark& mark) {
        return static_cast<std::uint32_t>(mark.line + 1);
    }

    void tell(const YAML::Node& node, std::string_view key, std::string reason,
              const char* advice) {
        mistakes_.add(line_of(node.Mark()), key, std::move(reason), advice);
    }

    static bool is_default(const YAML::Node& topology) {
        return topology["cluster_default"] && topology["cluster_default"].as<bool>(false);
    }

    void read_document(const YAML::Node& document) {
        std::vector<YAML::Node> trees;
        if (!document.IsSequence())
            return mistakes_.add(0, "", "it is no list of topologies",
                                 "see Slurm's topology.yaml(5)");
        for (const YAML::Node& topology : document) {
            if (!topology.IsMap())
                return tell(topology, "topology", "it has no keys", "see Slurm's topology.yaml(5)");
            if (topology["tree"]) trees.push_back(topology);
        }
        if (trees.size() > 1) {
            std::erase_if(trees, [](const YAML::Node& topology) { return !is_default(topology); });
            if (trees.empty())
                return mistakes_.add(0, "tree", "it describes several trees",
                                     "write cluster_default: true in that of this network");
        }
        if (trees.empty())
            return mistakes_.add(0, "tree", "no topology here is a tree of switches",
                                 slurm_tree_advice);
        const YAML::Node switches = trees.front()["tree"]["switches"];
        if (!switches || !switches.IsSequence())
            return tell(trees.front()["tree"], "switches", "it is missing or no list",
                        "list the switches of the tree");
        for (const YAML::Node& one : switches) read_switch(one);
    }

    void read_switch(const YAML::Node& node) {
        if (!node.IsMap())
            return tell(node, "switch", "it has no keys", "write switch, and nodes or children");
        SlurmSwitch one{file_, line_of(node.Mark()), {}, {}, {}, {}};
        for (const auto& entry : node) {
            const auto key = entry.first.as<std::string>("");
            if (!entry.second.IsScalar()) {
                tell(entry.first, in_quotes(key), "it is no text",
                     "write a list such as n[0-3,7] as one text");
            } else if (key == "switch") one.name = entry.second.Scalar();
            else if (key == "nodes") one.nodes = entry.second.Scalar();
            else if (key == "children") one.switches = entry.second.Scalar();
            else
                tell(entry.first, in_quotes(key), "unknown key",
                     "write switch, and nodes or children");
        }
        switches_.push_back(std::move(one));
    }

    std::string file_;
    const SlurmOptions& options_;
    FileMistakes mistakes_;
    std::vector<SlurmSwitch> switches_;
};

}  // namespace

FileResult<NetworkTree> read_slurm_yaml(std::string_view text, std::string_view file,
                                        const SlurmOptions& options) {
    return YamlReader(file, options).read(text);
}

}  // namespace headway
