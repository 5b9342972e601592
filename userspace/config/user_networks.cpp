// SPDX-License-Identifier: Apache-2.0
#include "config/user_networks.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/hostlist.hpp"
#include "base/whole_file.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kept_max = 1000;            ///< networks of a folder that are looked at
constexpr std::size_t file_name_max_bytes = 200;  ///< of a file, which most file systems take
constexpr std::size_t hosts_told_max_bytes = 100;

std::optional<fs::path> user_folder(const char* variable, const char* below_home) {
    const char* const folder = std::getenv(variable);
    if (folder != nullptr && *folder == '/') return fs::path(folder);
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return std::nullopt;
    return fs::path(home) / below_home;
}

/// FNV-1a, for lists that are too long for a file's name.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

std::string file_name(std::span<const std::string> hosts) {
    std::vector<std::string> sorted(hosts.begin(), hosts.end());
    std::sort(sorted.begin(), sorted.end());
    const std::string list = format_hostlist(sorted);
    if (list.size() <= file_name_max_bytes) return list;
    return fmt::format("{}_{:016x}", list.substr(0, file_name_max_bytes - 20), hash_of(list));
}

/// Whole or not at all: a job may read it at the same time.
Result<void> replace_file(const fs::path& file, std::string_view text) {
    if (const std::string why = write_whole(file.string(), text); !why.empty())
        return failure("cannot write {}: {}", file.string(), why);
    return {};
}

/// The last first.
std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().extension() != ".toml" || found.size() == kept_max) continue;
        std::error_code unreadable;
        found.emplace_back(fs::last_write_time(entry->path(), unreadable), entry->path());
    }
    std::sort(found.rbegin(), found.rend());
    std::vector<fs::path> files;
    for (auto& [time, file] : found) files.push_back(std::move(file));
    return files;
}

bool has_all(const Topology& topology, std::span<const std::string> hosts) {
    return std::all_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
        return topology.find_host(host).has_value();
    });
}

}  // namespace

std::optional<fs::path> user_config_file() {
    const auto folder = user_folder("XDG_CONFIG_HOME", ".config");
    if (!folder) return std::nullopt;
    return *folder / "headway" / "headway.toml";
}

std::optional<fs::path> user_networks_folder() {
    const auto folder = user_folder("XDG_STATE_HOME", ".local/state");
    if (!folder) return std::nullopt;
    return *folder / "headway" / "networks";
}

Result<Config> find_kept_network(const fs::path& folder, std::span<const std::string> hosts) {
    std::string broken;
    for (const fs::path& file : files_in(folder)) {
        auto config = load_config(file, PrefixesAre::optional);
        if (!config && broken.empty()) broken = config.error().front().to_string();
        if (config && has_all(config->topology, hosts)) return std::move(*config);
    }
    std::string list = format_hostlist(hosts);
    if (list.size() > hosts_told_max_bytes) list = fmt::format("{} hosts", hosts.size());
    return failure(
        "{} has no network that was measured between {}; headway run --measure finds it out{}{}",
        folder.string(), list, broken.empty() ? "" : "; ", broken);
}

Result<fs::path> keep_network(const fs::path& folder, std::span<const std::string> hosts,
                              std::string_view network, std::string_view document) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return failure("cannot make {}: {}", folder.string(), error.message());
    const std::string name = file_name(hosts);
    const fs::path file = folder / (name + ".toml");
    std::string text = "# What headway measure found.\n";
    if (!document.empty()) {
        text += fmt::format("[network]\nmeasured = \"{}.json\"\n\n", name);
        if (auto done = replace_file(folder / (name + ".json"), document); !done)
            return tl::unexpected(done.error());
    }
    text += network;
    if (auto done = replace_file(file, text); !done) return tl::unexpected(done.error());
    return file;
}

}  // namespace headway
