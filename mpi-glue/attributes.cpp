// SPDX-License-Identifier: MIT
#include "attributes.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "headway_mpi.h"
#include "helper.hpp"
#include "rate_control.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr std::uint64_t bytes_of_kbyte = 1000;

}  // namespace

Attributes& attributes() {
    static Attributes* const instance = new Attributes;
    return *instance;
}

std::optional<int> Attributes::keyval_for(MPI_Aint extra_state) noexcept {
    if (extra_state != HEADWAY_MAXRATE_STATE && extra_state != HEADWAY_MATB_STATE)
        return std::nullopt;
    const std::lock_guard lock(mutex_);
    const bool is_matb = extra_state == HEADWAY_MATB_STATE;
    int& key = is_matb ? matb_key_ : maxrate_key_;
    if (key == MPI_KEYVAL_INVALID) {
        real::Comm_create_keyval(is_matb ? inherit : MPI_COMM_NULL_COPY_FN,
                                 is_matb ? end : MPI_COMM_NULL_DELETE_FN, &key, this);
        // In use somewhere, it is not given to anybody else, even if the
        // program frees it.
        if (key != MPI_KEYVAL_INVALID) real::Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    }
    return key;
}

bool Attributes::is_ours(int keyval) const noexcept {
    const std::lock_guard lock(mutex_);
    return keyval != MPI_KEYVAL_INVALID && (keyval == matb_key_ || keyval == maxrate_key_);
}

int* Attributes::get(MPI_Comm communicator, int keyval) noexcept {
    const std::lock_guard lock(mutex_);
    int* const most = maximum();
    if (keyval == maxrate_key_) return most;
    Limit* const limit = limit_of(communicator, most != nullptr);
    return limit != nullptr ? &limit->kbytes_per_s : nullptr;
}

void Attributes::put(MPI_Comm communicator, int keyval, int kbytes_per_s) noexcept {
    const std::lock_guard lock(mutex_);
    if (keyval != matb_key_) return;
    Limit* const limit = limit_of(communicator, true);
    if (limit == nullptr) return;
    limit->kbytes_per_s = kbytes_per_s;
    in_force_ = limit;
    if (kbytes_per_s > 0) {
        rate_control().set_rate(static_cast<std::uint64_t>(kbytes_per_s) * bytes_of_kbyte);
    } else {
        rate_control().set_rate(std::nullopt);
    }
}

/// The communicator's own; at first MAXRATE.
Attributes::Limit* Attributes::limit_of(MPI_Comm communicator, bool create) {
    void* value = nullptr;
    int found = 0;
    real::Comm_get_attr(communicator, matb_key_, &value, &found);
    if (found != 0 && value != nullptr) return static_cast<Limit*>(value);
    if (!create) return nullptr;
    auto* limit = new (std::nothrow) Limit;
    if (limit == nullptr) return nullptr;
    if (const int* most = maximum()) limit->kbytes_per_s = *most;
    if (real::Comm_set_attr(communicator, matb_key_, limit) == MPI_SUCCESS) return limit;
    delete limit;
    return nullptr;
}

int* Attributes::maximum() {
    if (maximum_ == 0) {
        const auto most = rate_control().max_bytes_per_s();
        if (!most) return nullptr;
        maximum_ = static_cast<int>(
            std::min<std::uint64_t>(*most / bytes_of_kbyte, std::numeric_limits<int>::max()));
    }
    return &maximum_;
}

// MPI_Comm_dup: the copy has the value, in storage of its own, and no effect.
int Attributes::inherit(MPI_Comm, int, void*, void* from, void* to, int* copied) {
    auto* limit = from != nullptr ? new (std::nothrow) Limit(*static_cast<Limit*>(from)) : nullptr;
    *copied = limit != nullptr ? 1 : 0;
    *static_cast<void**>(to) = limit;
    return MPI_SUCCESS;
}

// The attribute is deleted, or its communicator freed: if it was put last, the
// rate goes with it.
int Attributes::end(MPI_Comm, int, void* value, void* owner) {
    auto* self = static_cast<Attributes*>(owner);
    auto* limit = static_cast<Limit*>(value);
    if (limit == nullptr) return MPI_SUCCESS;
    const std::lock_guard lock(self->mutex_);
    if (self->in_force_ == limit) {
        self->in_force_ = nullptr;
        rate_control().set_rate(std::nullopt);
    }
    delete limit;
    return MPI_SUCCESS;
}

}  // namespace headway::glue
