// SPDX-License-Identifier: Apache-2.0
#include "kernel/pacer.hpp"

namespace headway {

Pacer::Pacer(TrafficControl& kernel, const Clock& clock, const KernelLayout& layout)
    : kernel_(kernel), clock_(clock) {
    for (const ClassLayout& target : layout.classes) {
        classes_.push_back({target.classid, {}, std::nullopt});
    }
}

Result<Pacer::EnterId> Pacer::enter(std::vector<ClassRate> rates) {
    add_wishes(rates);
    if (const auto done = reconcile(); !done) {
        remove_wishes(rates);
        // Put back what did change; if that fails as well, a retry will.
        if (const auto restored = reconcile(); !restored) untold_error_ = restored.error();
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
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
}

void Pacer::hold(std::vector<ClassRate> rates) {
    held_ = std::move(rates);
    add_wishes(held_);
    confirm();
}

void Pacer::release_held() {
    remove_wishes(std::exchange(held_, {}));
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
}

void Pacer::set_off(bool is_off) {
    is_off_ = is_off;
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
}

void Pacer::confirm() {
    for (std::size_t i = 0; i < classes_.size(); ++i) acknowledged(i);
    retry_at_.reset();
    retry_pause_.reset();
}

void Pacer::doubt() {
    for (PacedClass& paced : classes_) paced.is_known = false;
}

void Pacer::retry() {
    if (!retry_at_ || clock_.now() < *retry_at_) return;
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
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
    std::vector<std::size_t> changed;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const PacedClass& paced = classes_[i];
        const ClassRate rate = wanted(i);
        if (paced.is_known && paced.commanded == rate) continue;
        changes.emplace_back(ChangeClassRate{paced.classid, rate});
        changed.push_back(i);
    }
    if (!changes.empty()) {
        if (auto done = kernel_.apply(changes, ApplyMode::together); !done) {
            // A change that failed may have been made all the same, if only
            // the acknowledgement was lost.
            for (const std::size_t i : changed) classes_[i].is_known = false;
            for (const std::size_t index : done.error().applied) acknowledged(changed[index]);
            schedule_retry();
            return tl::unexpected(std::move(done.error().error));
        }
        for (const std::size_t i : changed) acknowledged(i);
    }
    retry_at_.reset();
    retry_pause_.reset();
    return {};
}

void Pacer::acknowledged(std::size_t class_index) {
    classes_[class_index].commanded = wanted(class_index);
    classes_[class_index].is_known = true;
}

void Pacer::schedule_retry() {
    retry_at_ = clock_.now() + retry_pause_.next();
}

}  // namespace headway
