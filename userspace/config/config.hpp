// SPDX-License-Identifier: Apache-2.0
// headway.toml as plain structs.  The format is documented in
// Documentation/headway.toml.5; other parts turn these values into behaviour.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_status.hpp"
#include "base/file_error.hpp"
#include "config/config_tables.hpp"
#include "config/topology_toml.hpp"
#include "network/topology.hpp"
#include "plan/planner.hpp"
#include "trunk/shares.hpp"

namespace headway {

inline constexpr const char* config_default_path = "/etc/headway/headway.toml";
inline constexpr const char* socket_default_path = "/run/headway/control.sock";

struct NodeConfig {
    std::optional<std::string> name;  ///< none: the host name
    std::string interface = "eth0";
};

struct PolicyConfig {
    PlanPolicy plan;
    std::uint64_t min_message_bytes = 2048;        ///< smaller collectives are not paced
    SharePolicy share = SharePolicy::per_job;  ///< of links that several jobs use
};

/// The qdisc that paces.
enum class PacingQdisc {
    automatic,  ///< gap; or where the kernel has no module for it bpf, or else fq
    gap,
    bpf,  ///< one that is a BPF program
    fq,
};

struct KernelConfig {
    PacingQdisc qdisc = PacingQdisc::automatic;
    bool phases = true;  ///< rates that ranks switch themselves, where the kernel can
    bool gap_frames = true;  ///< exact gaps, where the device passes the self-test
};

struct DaemonConfig {
    std::string socket = socket_default_path;
    std::optional<std::string> group;  ///< who may connect; none: everybody on the node
};

struct AccessConfig {
    std::optional<std::string> administrators;  ///< a group who may what root may; none: only root
};

struct Config {
    std::string file;  ///< as named by the user
    NodeConfig node;
    PolicyConfig policy;
    KernelConfig kernel;
    DaemonConfig daemon;
    AccessConfig access;
    std::optional<CoordinationConfig> coordination;  ///< none: nobody to agree with
    std::optional<FeedbackBounds> feedback;          ///< none: plans do not learn
    std::optional<std::string> measured_file;  ///< of [network]; the topology has what plans use of it
    Topology topology;
};

/// Everything wrong is reported at once, in the order of the lines (of a file
/// that is not TOML at all only the first mistake is known).  Clusters need
/// prefixes to be paced, not to be predicted.
[[nodiscard]] FileResult<Config> parse_config(std::string_view text, std::string_view file,
                                                PrefixesAre prefixes = PrefixesAre::required);

[[nodiscard]] FileResult<Config> load_config(const std::filesystem::path& file,
                                               PrefixesAre prefixes = PrefixesAre::required);

/// The daemon's socket that a file names, the default one if it names none.  Who only wants to talk to
/// the daemon, to switch it off, say, does not depend on the rest of the file.
struct NamedSocket {
    std::string path;
    std::string trouble;  ///< with the file, for people; empty: there is none
};
[[nodiscard]] NamedSocket find_control_socket(const std::filesystem::path& file);

/// Every error or doubt (doubts.hpp) on a line of its own, to stderr, the same advice once.
void report_doubts(std::string_view file, const std::vector<std::string>& doubts);
void report_config_errors(std::span<const FileError> errors);

/// Checks a file for `headwayd --check-config` and `headway check-config`: it prints one line to
/// stdout if all is well, else every error to stderr.
[[nodiscard]] ExitStatus check_config(const std::filesystem::path& file);

}  // namespace headway
