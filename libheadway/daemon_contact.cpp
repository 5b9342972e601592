// SPDX-License-Identifier: MIT
#include "daemon_contact.hpp"

#include <unistd.h>

#include <algorithm>

#include "own_network.hpp"

namespace headway::glue {
namespace {

using Json = DaemonLink::Json;

Json hello_of(const ContactPlan& plan) {
    Json hello{{"op", "hello"}, {"job", plan.job}, {"rank", plan.rank}, {"pid", ::getpid()}};
    if (plan.job_start != 0) hello["start"] = plan.job_start;
    return hello;
}

Json join_of(const ContactPlan& plan) { return {{"op", "join"}, {"job", plan.job}}; }

std::string text_in(const Json& answer, const char* key) {
    const auto found = answer.find(key);
    return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

bool has_phases(const Json& hello) {
    const auto phases = hello.find("phases");
    return phases != hello.end() && phases->is_boolean() && phases->get<bool>();
}

std::optional<PhaseSlot> slot_of(const DaemonLink::AnswerWithFile& joined) {
    const auto number = [&](const char* key) { return whole_number_in(joined.body, key).value_or(0); };
    return PhaseSlot::map(joined.file, {number("map_bytes"), number("slot_offset"),
                                        number("generation_offset")});
}

Contact contact_of(DaemonLink link, const Json& hello) {
    return {std::move(link),
            text_in(hello, "node"),
            text_in(hello, "cluster"),
            whole_number_in(hello, "min_message_bytes").value_or(0),
            whole_number_in(hello, "port_buffer_bytes").value_or(0),
            std::nullopt};
}

}  // namespace

LinkResult<Contact> make_contact(const ContactPlan& plan) {
    auto link = DaemonLink::connect(plan.socket_path, plan.timeout);
    if (!link) return tl::unexpected(link.error());
    const auto hello = link->ask(hello_of(plan));
    if (!hello) return tl::unexpected(hello.error());
    if (const auto why = why_network_is_unknown(*hello, own_addresses()); !why.empty())
        return tl::unexpected(LinkError{why, false});
    Contact contact = contact_of(std::move(*link), *hello);
    if (!has_phases(*hello)) return contact;
    // Without a slot all goes on by requests.
    if (const auto joined = contact.link.ask_for_file(join_of(plan)))
        contact.slot = slot_of(*joined);
    return contact;
}

ContactSeeker::ContactSeeker(ContactPlan plan, Now now)
    : plan_(std::move(plan)), now_(std::move(now)), since_(now_()) {}

void ContactSeeker::lost() {
    if (now_() - since_ >= longest_pause) pause_ = first_pause;
    pause();
}

std::optional<Contact> ContactSeeker::seek() {
    if (!attempt_) {
        if (now_() < next_attempt_) return std::nullopt;
        begin();
    }
    if (!attempt_) return std::nullopt;
    auto contact = proceed();
    if (!contact) return std::nullopt;
    attempt_.reset();
    since_ = now_();
    return contact;
}

/// No attempt is under way; the next one comes after a pause.
void ContactSeeker::pause() {
    attempt_.reset();
    next_attempt_ = now_() + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
}

/// Both requests at once: a daemon without phases refuses the second, and that
/// is all.
void ContactSeeker::begin() {
    auto link = DaemonLink::connect_at_once(plan_.socket_path, plan_.timeout);
    if (!link) return pause();
    const auto hello = link->post(hello_of(plan_));
    const auto join = hello ? link->post(join_of(plan_)) : hello;
    if (!join) return pause();
    attempt_.emplace(
        Attempt{std::move(*link), now_() + plan_.timeout, *hello, *join, std::nullopt});
}

std::optional<Contact> ContactSeeker::proceed() {
    if (!attempt_->greeted) {
        auto hello = attempt_->link.take(attempt_->hello);
        const bool is_greeted = hello && *hello;
        if (!hello || (is_greeted && !why_network_is_unknown((*hello)->body, own_addresses()).empty())) {
            pause();
        } else if (is_greeted) {
            attempt_->greeted = std::move((*hello)->body);
        }
    }
    if (!attempt_) return std::nullopt;
    if (attempt_->greeted) {
        const auto joined = attempt_->link.take(attempt_->join);
        if (joined ? joined->has_value() : !joined.error().lost) {
            Contact contact = contact_of(std::move(attempt_->link), *attempt_->greeted);
            if (joined) contact.slot = slot_of(**joined);
            return contact;
        }
        if (!joined) pause();
    }
    if (attempt_ && now_() >= attempt_->deadline) pause();
    return std::nullopt;
}

}  // namespace headway::glue
