// SPDX-License-Identifier: MIT
#include "daemon_contact.hpp"

#include <unistd.h>

#include <algorithm>

#include "own_network.hpp"

namespace headway::glue {
namespace {

ObjectText hello_of(const ContactPlan& plan) {
    ObjectText hello("hello");
    hello.text("job", plan.job).number("rank", plan.rank).number("pid", ::getpid());
    if (plan.job_start != 0) hello.number("start", plan.job_start);
    return hello;
}

ObjectText join_of(const ContactPlan& plan) { return ObjectText("join").text("job", plan.job); }

bool has_phases(const JsonObject& hello) { return hello.flag("phases").value_or(false); }

constexpr const char* no_phases =
    "headwayd has no phases on this node: [kernel] phases is off in headway.toml, or HW-202 in its log tells why";

LinkError refused(std::string why) { return {std::move(why), false}; }

/// Reads the daemon's greeting to a process that may ask to be paced.
LinkResult<Greeting> greeting_of(const JsonObject& hello) {
    if (auto why = why_network_is_unknown(hello, own_addresses()); !why.empty())
        return tl::unexpected(refused(std::move(why)));
    return Greeting{hello.text("node").value_or(""), hello.text("cluster").value_or(""),
                    hello.whole_number("min_message_bytes").value_or(0),
                    hello.whole_number("port_buffer_bytes").value_or(0)};
}

LinkResult<PhaseSlot> slot_of(const LinkResult<DaemonLink::AnswerWithFile>& joined) {
    if (!joined) return tl::unexpected(joined.error());
    const auto number = [&](const char* key) { return joined->body.whole_number(key).value_or(0); };
    auto slot = PhaseSlot::map(joined->file, {number("map_bytes"), number("slot_offset"),
                                              number("generation_offset")});
    if (!slot) return tl::unexpected(refused("headwayd's answer to join is of no memory that can be mapped"));
    return std::move(*slot);
}

}  // namespace

LinkResult<Contact> make_contact(const ContactPlan& plan, std::optional<Greeting>& greeted) {
    auto link = DaemonLink::connect(plan.socket_path, plan.timeout);
    if (!link) return tl::unexpected(link.error());
    const auto hello = link->ask(hello_of(plan));
    if (!hello) return tl::unexpected(hello.error());
    auto greeting = greeting_of(*hello);
    if (!greeting) return tl::unexpected(greeting.error());
    greeted = *greeting;
    if (!has_phases(*hello)) return tl::unexpected(refused(no_phases));
    auto slot = slot_of(link->ask_for_file(join_of(plan)));
    if (!slot) return tl::unexpected(slot.error());
    return Contact{std::move(*link), std::move(*slot), std::move(*greeting)};
}

ContactSeeker::ContactSeeker(ContactPlan plan, Now now)
    : plan_(std::move(plan)), now_(std::move(now)), since_(now_()) {}

void ContactSeeker::lost(std::string why) {
    if (now_() - since_ >= longest_pause) pause_ = first_pause;
    pause(std::move(why));
}

std::optional<Contact> ContactSeeker::seek() {
    if (!attempt_) {
        if (now_() < next_attempt_) return std::nullopt;
        begin();
    }
    if (!attempt_) return std::nullopt;
    auto contact = proceed();
    if (!contact) {
        pause(contact.error().what);
        return std::nullopt;
    }
    if (*contact) {
        attempt_.reset();
        since_ = now_();
    } else if (now_() >= attempt_->deadline) {
        pause("headwayd did not answer within " + std::to_string(plan_.timeout.count()) + " ms");
    }
    return std::move(*contact);
}

/// No attempt is under way; the next one comes after a pause.
void ContactSeeker::pause(std::string why) {
    why_ = std::move(why);
    attempt_.reset();
    next_attempt_ = now_() + pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
}

/// Both requests at once: a daemon without phases refuses the second, and that
/// is all.
void ContactSeeker::begin() {
    auto link = DaemonLink::connect_at_once(plan_.socket_path, plan_.timeout);
    if (!link) return pause(link.error().what);
    const auto hello = link->post(hello_of(plan_));
    const auto join = hello ? link->post(join_of(plan_)) : hello;
    if (!join) return pause(join.error().what);
    attempt_.emplace(
        Attempt{std::move(*link), now_() + plan_.timeout, *hello, *join, std::nullopt});
}

/// Goes on with the attempt; none: not all answers have come.
LinkResult<std::optional<Contact>> ContactSeeker::proceed() {
    if (!attempt_->greeted) {
        auto hello = attempt_->link.take(attempt_->hello);
        if (!hello) return tl::unexpected(hello.error());
        if (!*hello) return std::nullopt;
        if (!has_phases((*hello)->body)) return tl::unexpected(refused(no_phases));
        auto greeting = greeting_of((*hello)->body);
        if (!greeting) return tl::unexpected(greeting.error());
        attempt_->greeted = std::move(*greeting);
    }
    auto joined = attempt_->link.take(attempt_->join);
    if (!joined) return tl::unexpected(joined.error());
    if (!*joined) return std::nullopt;
    auto slot = slot_of(std::move(**joined));
    if (!slot) return tl::unexpected(slot.error());
    return Contact{std::move(attempt_->link), std::move(*slot), std::move(*attempt_->greeted)};
}

}  // namespace headway::glue
