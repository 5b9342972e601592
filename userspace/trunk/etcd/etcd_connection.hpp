// SPDX-License-Identifier: Apache-2.0
// One of several etcd endpoints at a time, and who we are to it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/error.hpp"
#include "etcd_api.grpc.pb.h"

namespace headway {

/// How headway-etcd reaches the store, as on its command line.
struct EtcdOptions {
    std::vector<std::string> endpoints;  ///< http://HOST:PORT, https://HOST:PORT, unix:PATH
    std::string prefix;                  ///< of all keys of the trunk; ends with '/'
    std::string host;                    ///< whose record and acknowledgement are ours
    std::string ca_file;                 ///< empty: the system's
    std::string cert_file;               ///< empty: none shown
    std::string key_file;
    std::string user;                    ///< empty: none
    std::string password_file;
    std::chrono::milliseconds timeout{1000};  ///< of a request
    std::chrono::milliseconds silence{3000};  ///< after which a watch counts as hanging
};

namespace etcd = etcdserverpb;

/// An endpoint's services, over one connection.
struct EtcdEndpoint {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcd::KV::Stub> keys;
    std::unique_ptr<etcd::Watch::Stub> watch;
    std::unique_ptr<etcd::Lease::Stub> leases;
    std::unique_ptr<etcd::Auth::Stub> users;
};

/// All threads may use it.
class EtcdConnection {
public:
    /// Reads the files that the options name.
    [[nodiscard]] static Result<std::unique_ptr<EtcdConnection>> make(const EtcdOptions& options);

    [[nodiscard]] EtcdEndpoint& current();
    /// Others may do better than this one, if it is still the current one.
    void give_up(const EtcdEndpoint& endpoint);
    [[nodiscard]] std::size_t endpoints() const { return endpoints_.size(); }

    using Call = std::function<grpc::Status(EtcdEndpoint&, grpc::ClientContext&)>;
    /// Within the options' time, with the user's token; once more if that had expired.
    [[nodiscard]] grpc::Status call(const Call& call);
    /// Makes the call at a certain endpoint.
    [[nodiscard]] grpc::Status call_at(EtcdEndpoint& endpoint, const Call& call);

    /// Puts the user's token into the request's metadata, fetching one if there is none.
    [[nodiscard]] grpc::Status authorise(EtcdEndpoint& endpoint, grpc::ClientContext& context);
    /// A request was refused: if because of the token, the next one gets another.
    bool forget_expired_token(const grpc::Status& status);

private:
    EtcdConnection(const EtcdOptions& options, std::string password);

    void add_endpoint(const std::string& name,
                      const std::shared_ptr<grpc::ChannelCredentials>& secure);
    void set_deadline(grpc::ClientContext& context) const;

    EtcdOptions options_;
    std::string password_;
    std::vector<std::unique_ptr<EtcdEndpoint>> endpoints_;
    std::mutex mutex_;  ///< guards what follows
    std::size_t current_ = 0;
    std::string token_;
};

}  // namespace headway
