// SPDX-License-Identifier: Apache-2.0
// headwayd's requests, carried out in etcd, one after the other.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "trunk/etcd/etcd_connection.hpp"
#include "trunk/etcd/etcd_keys.hpp"
#include "trunk/etcd_link.hpp"

namespace headway {

/// How far the store is known to be, for who watches it.
struct StoreProgress {
    std::atomic<Revision> put{0};   ///< of our own last put: its event has to come
    std::atomic<Revision> known{0};  ///< of any answer

    void know(Revision revision) { raise(known, revision); }
    void has_put(Revision revision) { raise(put, revision); }
    static void raise(std::atomic<Revision>& to, Revision revision) {
        Revision seen = to.load();
        while (seen < revision && !to.compare_exchange_weak(seen, revision)) {
        }
    }
};

class EtcdRequests {
public:
    /// The references must outlive this object.
    EtcdRequests(EtcdConnection& connection, const EtcdOptions& options, StoreProgress& progress)
        : connection_(connection), keys_{options.prefix}, host_(options.host), progress_(progress) {}

    /// Blocks until it is done, or nobody knows.  None: there is no answer to it.
    [[nodiscard]] std::optional<StoreAnswer> carry_out(const StoreRequest& request);

private:
    struct Verbs;  // one overload per request

    StoreAnswer grant(RequestId id, const GrantLease& grant);
    StoreAnswer prolong(RequestId id, const ProlongLease& prolong);
    void revoke(LeaseId lease);
    StoreAnswer put(RequestId id, const etcd::TxnRequest& transaction);
    [[nodiscard]] etcd::TxnRequest if_ours(LeaseId lease) const;

    EtcdConnection& connection_;
    EtcdKeys keys_;
    std::string host_;
    StoreProgress& progress_;
    std::int64_t granted_seconds_ = 0;
};

}  // namespace headway
