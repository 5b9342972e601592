// SPDX-License-Identifier: Apache-2.0
#include "trunk/etcd/etcd_requests.hpp"

namespace headway {
namespace {

void add_put(google::protobuf::RepeatedPtrField<etcd::RequestOp>* operations, const std::string& key,
             const std::string& value, LeaseId lease) {
    etcd::PutRequest* put = operations->Add()->mutable_request_put();
    put->set_key(key);
    put->set_value(value);
    put->set_lease(lease);
}

void add_absence(etcd::TxnRequest& transaction, const std::string& key) {
    etcd::Compare* compare = transaction.add_compare();
    compare->set_result(etcd::Compare::EQUAL);
    compare->set_target(etcd::Compare::CREATE);
    compare->set_key(key);
    compare->set_create_revision(0);
}

/// Whether it put anything: itself, or the transaction in its "else".
bool has_put(const etcd::TxnResponse& response) {
    if (response.succeeded()) return true;
    return response.responses_size() == 1 && response.responses(0).has_response_txn() &&
           response.responses(0).response_txn().succeeded();
}

}  // namespace

/// True while the host's record is attached to that lease.
etcd::TxnRequest EtcdRequests::if_ours(LeaseId lease) const {
    etcd::TxnRequest transaction;
    etcd::Compare* compare = transaction.add_compare();
    compare->set_result(etcd::Compare::EQUAL);
    compare->set_target(etcd::Compare::LEASE);
    compare->set_key(keys_.record(host_));
    compare->set_lease(lease);
    return transaction;
}

struct EtcdRequests::Verbs {
    EtcdRequests& self;
    RequestId id;

    std::optional<StoreAnswer> operator()(const GrantLease& verb) const {
        return self.grant(id, verb);
    }
    std::optional<StoreAnswer> operator()(const ProlongLease& verb) const {
        return self.prolong(id, verb);
    }
    std::optional<StoreAnswer> operator()(const RevokeLease& verb) const {
        self.revoke(verb.lease);
        return std::nullopt;
    }
    std::optional<StoreAnswer> operator()(const PutRecordText& verb) const {
        const std::string key = self.keys_.record(self.host_);
        etcd::TxnRequest transaction = self.if_ours(verb.lease);
        add_put(transaction.mutable_success(), key, verb.text, verb.lease);
        etcd::TxnRequest* otherwise = transaction.add_failure()->mutable_request_txn();
        add_absence(*otherwise, key);
        add_put(otherwise->mutable_success(), key, verb.text, verb.lease);
        return self.put(id, transaction);
    }
    std::optional<StoreAnswer> operator()(const PutAcknowledgement& verb) const {
        etcd::TxnRequest transaction = self.if_ours(verb.lease);
        add_put(transaction.mutable_success(), self.keys_.acknowledgement(self.host_),
                std::to_string(verb.epoch), verb.lease);
        return self.put(id, transaction);
    }
    std::optional<StoreAnswer> operator()(const PutSettled& verb) const {
        etcd::TxnRequest transaction = self.if_ours(verb.lease);
        add_absence(transaction, self.keys_.settled());
        add_put(transaction.mutable_success(), self.keys_.settled(), std::to_string(verb.lease), 0);
        return self.put(id, transaction);
    }
};

std::optional<StoreAnswer> EtcdRequests::carry_out(const StoreRequest& request) {
    return std::visit(Verbs{*this, request.id}, request.verb);
}

StoreAnswer EtcdRequests::grant(RequestId id, const GrantLease& grant) {
    StoreAnswer answer{.id = id};
    etcd::LeaseGrantRequest request;
    request.set_ttl(grant.time.count());
    etcd::LeaseGrantResponse response;
    const grpc::Status status = connection_.call([&](EtcdEndpoint& at, grpc::ClientContext& context) {
        return at.leases->LeaseGrant(&context, request, &response);
    });
    if (!status.ok() || !response.error().empty() || response.id() <= 0) return answer;
    progress_.know(response.header().revision());
    if (response.ttl() < grant.time.count()) {  // etcd lengthens leases only
        revoke(response.id());
        return answer;
    }
    granted_seconds_ = grant.time.count();
    answer.done = true;
    answer.lease = response.id();
    return answer;
}

StoreAnswer EtcdRequests::prolong(RequestId id, const ProlongLease& prolong) {
    StoreAnswer answer{.id = id, .lease = prolong.lease};
    etcd::LeaseKeepAliveRequest request;
    request.set_id(prolong.lease);
    etcd::LeaseKeepAliveResponse response;
    bool has_answer = false;
    const grpc::Status status = connection_.call([&](EtcdEndpoint& at, grpc::ClientContext& context) {
        const auto stream = at.leases->LeaseKeepAlive(&context);
        has_answer = stream->Write(request) && stream->Read(&response);
        if (!has_answer) return stream->Finish();
        context.TryCancel();  // nothing more is wanted of this stream
        (void)stream->Finish();
        return grpc::Status::OK;
    });
    if (!status.ok() || !has_answer || response.id() != prolong.lease) return answer;
    progress_.know(response.header().revision());
    answer.lease_lost = response.ttl() <= 0;
    answer.done = response.ttl() > 0 && response.ttl() >= granted_seconds_;
    return answer;
}

void EtcdRequests::revoke(LeaseId lease) {
    etcd::LeaseRevokeRequest request;
    request.set_id(lease);
    etcd::LeaseRevokeResponse response;
    (void)connection_.call([&](EtcdEndpoint& at, grpc::ClientContext& context) {
        return at.leases->LeaseRevoke(&context, request, &response);
    });
}

StoreAnswer EtcdRequests::put(RequestId id, const etcd::TxnRequest& transaction) {
    StoreAnswer answer{.id = id};
    etcd::TxnResponse response;
    const grpc::Status status = connection_.call([&](EtcdEndpoint& at, grpc::ClientContext& context) {
        return at.keys->Txn(&context, transaction, &response);
    });
    if (!status.ok()) return answer;
    progress_.know(response.header().revision());
    answer.done = has_put(response);
    answer.revision = response.header().revision();
    if (answer.done) progress_.has_put(answer.revision);
    return answer;
}

}  // namespace headway
