// SPDX-License-Identifier: Apache-2.0
#include "kernel/pacer.hpp"

namespace headway {

Pacer::Pacer(KernelMirror& kernel, const Clock& clock, const KernelLayout& layout)
    : kernel_(kernel), clock_(clock) {
    for (const ClassLayout& target : layout.classes) classes_.push_back({target.classid});
}

Result<Pacer::EnterId> Pacer::enter(std::vector<ClassRate> rates) {
    add_wishes(rates);
    if (const auto done = reconcile(); !done) {
        remove_wishes(rates);
        // Put back what did change; if that fails as well, a retry will.
        reconcile_or_retry();
        return tl::unexpected(done.error());
    }
    const EnterId id = next_id_++;
    enters_.emplace(id, std::move(rates));
    return id;
}

void Pacer::leave(std::span<const EnterId> enters) {
    for (const EnterId id : enters) {
        const auto entered = enters_.find(id);
        if (entered == enters_.end()) continue;
        remove_wishes(entered->second);
        enters_.erase(entered);
    }
    reconcile_or_retry();
}

void Pacer::hold(std::vector<ClassRate> rates) {
    held_ = std::move(rates);
    add_wishes(held_);
}

void Pacer::release_held() {
    remove_wishes(std::exchange(held_, {}));
    reconcile_or_retry();
}

void Pacer::set_off(bool is_off) {
    is_off_ = is_off;
    reconcile_or_retry();
}

void Pacer::confirm() {
    retry_at_.reset();
    retry_pause_.reset();
}

void Pacer::retry() {
    if (!retry_at_ || clock_.now() < *retry_at_) return;
    reconcile_or_retry();
}

std::optional<Error> Pacer::take_error() { return std::exchange(untold_error_, std::nullopt); }

ClassRate Pacer::wanted(std::size_t class_index) const {
    const auto& wishes = classes_[class_index].wishes;
    if (is_off_ || wishes.empty()) return std::nullopt;
    return wishes.begin()->first;
}

void Pacer::add_wishes(const std::vector<ClassRate>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rates[i]) ++classes_[i].wishes[*rates[i]];
    }
}

void Pacer::remove_wishes(const std::vector<ClassRate>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (!rates[i]) continue;
        const auto wish = classes_[i].wishes.find(*rates[i]);
        if (--wish->second == 0) classes_[i].wishes.erase(wish);
    }
}

Result<void> Pacer::reconcile() {
    std::vector<Change> changes;
    changes.reserve(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const TcHandle classid = classes_[i].classid;
        // not asked, which a collective would wait for, where it is so already
        if (!kernel_.has_rate(classid, wanted(i))) changes.emplace_back(ChangeClassRate{classid, wanted(i)});
    }
    if (auto done = kernel_.apply(changes, ApplyMode::together); !done) {
        retry_at_ = clock_.now() + retry_pause_.next();
        return tl::unexpected(std::move(done.error().error));
    }
    confirm();
    return {};
}

/// Where nobody can be told that it failed.
void Pacer::reconcile_or_retry() {
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
}

}  // namespace headway
