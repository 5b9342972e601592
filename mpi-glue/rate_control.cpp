// SPDX-License-Identifier: MIT
#include "rate_control.hpp"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "helper.hpp"

namespace headway::glue {
namespace {

constexpr std::uint64_t bytes_of_kbyte = 1000;

std::optional<std::uint64_t> maximum_of_environment() {
    const char* text = std::getenv("HEADWAY_MAXRATE");
    if (text == nullptr) return std::nullopt;
    std::uint64_t kbytes = 0;
    const char* end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, kbytes);
    if (error != std::errc{} || last != end || kbytes == 0) return std::nullopt;
    return kbytes * bytes_of_kbyte;
}

}  // namespace

RateControl& rate_control() {
    static RateControl* const instance = new RateControl;
    return *instance;
}

/// Connects first, if that has not been tried.
LinkResult<DaemonLink::Json> RateControl::ask(DaemonLink::Json request) {
    if (!tried_) {
        tried_ = true;
        const Settings& settings = helper().settings();
        auto link = DaemonLink::connect(settings.socket_path, settings.timeout);
        if (!link) return tl::unexpected(link.error());
        const auto hello = link->ask({{"op", "hello"},
                                      {"job", helper().job()},
                                      {"rank", helper().rank()},
                                      {"pid", ::getpid()}});
        if (!hello) return tl::unexpected(hello.error());
        link_.emplace(std::move(*link));
    }
    if (!link_) return tl::unexpected(LinkError{"there is no headwayd", true});
    auto answer = link_->ask(std::move(request));
    if (!answer && answer.error().lost) link_.reset();
    return answer;
}

RateResult RateControl::set_rate(std::optional<std::uint64_t> bytes_per_s) noexcept try {
    const std::lock_guard lock(mutex_);
    if (refused_) return RateResult::unsupported;
    DaemonLink::Json request{{"op", "rate"}, {"bytes_per_s", nullptr}};
    if (bytes_per_s) request["bytes_per_s"] = *bytes_per_s;
    const auto held =
        helper().hold(bytes_per_s ? std::make_shared<HeldRates>(request) : nullptr);
    if (held && *held) return RateResult::set;
    if (!held) {
        // of this rate or of now: the next one may do
        helper().complain("HEADWAY_MATB has no effect: " + held.error().what);
        return held.error().lost ? RateResult::no_daemon : RateResult::unsupported;
    }
    if (tried_ && !link_) return RateResult::no_daemon;
    const auto answer = ask(std::move(request));
    if (answer) return RateResult::set;
    helper().complain("HEADWAY_MATB has no effect: " + answer.error().what);
    refused_ = !answer.error().lost;
    return refused_ ? RateResult::unsupported : RateResult::no_daemon;
} catch (const std::exception&) {
    return RateResult::unsupported;
}

std::optional<std::uint64_t> RateControl::max_bytes_per_s() noexcept try {
    const std::lock_guard lock(mutex_);
    if (!maximum_known_) {
        maximum_known_ = true;
        maximum_ = maximum_of_environment();
        if (!maximum_) maximum_ = ask_for_maximum();
    }
    return maximum_;
} catch (const std::exception&) {
    return std::nullopt;
}

std::optional<std::uint64_t> RateControl::ask_for_maximum() {
    const auto& hosts = helper().hosts().job_hosts().names();
    if (hosts.size() < 2) return std::nullopt;
    const auto plan = ask({{"op", "plan"}, {"operation", "alltoall"}, {"hosts", hosts}});
    if (!plan) return std::nullopt;
    const auto link = plan->find("limiting_link");
    if (link == plan->end() || !link->is_object()) return std::nullopt;
    const auto rate = link->find("bits_per_s");
    if (rate == link->end() || !rate->is_number()) return std::nullopt;
    const double bits_per_s = rate->get<double>();
    constexpr double most = 1e15;
    if (!(bits_per_s >= 8 * bytes_of_kbyte) || bits_per_s > most) return std::nullopt;
    return static_cast<std::uint64_t>(bits_per_s / 8);
}

void RateControl::close() noexcept {
    const std::lock_guard lock(mutex_);
    tried_ = true;
    link_.reset();
}

}  // namespace headway::glue
