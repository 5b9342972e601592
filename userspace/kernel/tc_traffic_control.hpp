// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/child_process.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

/// Changes through `tc -batch -`; the state is read by `reader`, because tc's
/// text is made for people.  For administrators who want to see, log or wrap
/// what is done: each call costs the start of a program, some milliseconds.
class TcTrafficControl final : public TrafficControl {
public:
    struct Options {
        std::string device;
        std::optional<std::string> plugin_dir;  ///< TC_LIB_DIR; none: as inherited
        std::string program = "tc";
        std::chrono::milliseconds deadline{5000};
    };

    /// `reader` must outlive this object.
    TcTrafficControl(TrafficControl& reader, Options options)
        : reader_(reader), options_(std::move(options)) {}

    [[nodiscard]] Result<void> find_device() override { return reader_.find_device(); }
    [[nodiscard]] Result<std::vector<FilterState>> filters(TcHandle qdisc) override {
        return reader_.filters(qdisc);
    }
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override {
        return reader_.root_qdisc();
    }
    [[nodiscard]] Result<std::vector<ClassState>> classes() override { return reader_.classes(); }

    /// tc stops at the first failure in either mode.
    [[nodiscard]] tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                         ApplyMode mode) override;

private:
    TrafficControl& reader_;
    Options options_;
};

/// Number of the line that tc says it failed at, counted from 1: "Command
/// failed -:3".  None if it says nothing of the kind.
[[nodiscard]] std::optional<std::size_t> failed_tc_line(std::string_view messages);

}  // namespace headway
