// SPDX-License-Identifier: Apache-2.0
#include "trunk/etcd/etcd_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace headway {
namespace {

// Names that etcd gives to metadata of a request.
constexpr const char* token_key = "token";

Result<std::string> read_file(const std::string& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return failure("{}: cannot be read: {}", path, std::strerror(errno));
    return text.str();
}

/// The file's first line.
Result<std::string> read_password(const std::string& path) {
    auto text = read_file(path);
    if (text) text->resize(std::min(text->find('\n'), text->size()));
    return text;
}

Result<std::shared_ptr<grpc::ChannelCredentials>> read_credentials(const EtcdOptions& options) {
    const auto ca = read_file(options.ca_file);
    if (!ca) return tl::unexpected(ca.error());
    const auto cert = read_file(options.cert_file);
    if (!cert) return tl::unexpected(cert.error());
    const auto key = read_file(options.key_file);
    if (!key) return tl::unexpected(key.error());
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = *ca;
    tls.pem_cert_chain = *cert;
    tls.pem_private_key = *key;
    return grpc::SslCredentials(tls);
}

/// Connections are tried again soon, and one that is dead is noticed.
grpc::ChannelArguments channel_arguments() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(64 * 1024 * 1024);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
}

/// Says whether another endpoint may answer what this one did not.
bool is_endpoints_fault(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
           status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
           status.error_code() == grpc::StatusCode::UNKNOWN;
}

}  // namespace

EtcdConnection::EtcdConnection(const EtcdOptions& options, std::string password)
    : options_(options), password_(std::move(password)) {}

Result<std::unique_ptr<EtcdConnection>> EtcdConnection::make(const EtcdOptions& options) {
    auto password = read_password(options.password_file);
    if (!password) return tl::unexpected(password.error());
    const auto secure = read_credentials(options);
    if (!secure) return tl::unexpected(secure.error());
    std::unique_ptr<EtcdConnection> made(new EtcdConnection(options, std::move(*password)));
    for (const std::string& name : options.endpoints) made->add_endpoint(name, *secure);
    return made;
}

void EtcdConnection::add_endpoint(const std::string& name,
                                  const std::shared_ptr<grpc::ChannelCredentials>& secure) {
    const bool is_secure = name.starts_with("https://");
    const auto scheme = name.find("://");
    const std::string target = scheme == std::string::npos ? name : name.substr(scheme + 3);
    const auto channel = grpc::CreateCustomChannel(
        target, is_secure ? secure : grpc::InsecureChannelCredentials(), channel_arguments());
    endpoints_.push_back(std::make_unique<EtcdEndpoint>(
        EtcdEndpoint{name, channel, etcd::KV::NewStub(channel), etcd::Watch::NewStub(channel),
                     etcd::Lease::NewStub(channel), etcd::Auth::NewStub(channel)}));
}

EtcdEndpoint& EtcdConnection::current() {
    const std::lock_guard lock(mutex_);
    return *endpoints_[current_];
}

void EtcdConnection::give_up(const EtcdEndpoint& endpoint) {
    const std::lock_guard lock(mutex_);
    if (endpoints_[current_].get() == &endpoint) current_ = (current_ + 1) % endpoints_.size();
}

void EtcdConnection::set_deadline(grpc::ClientContext& context) const {
    context.set_deadline(std::chrono::system_clock::now() + options_.timeout);
}

grpc::Status EtcdConnection::authorise(EtcdEndpoint& endpoint, grpc::ClientContext& context) {
    if (options_.user.empty()) return grpc::Status::OK;
    const std::lock_guard lock(mutex_);
    if (token_.empty()) {
        grpc::ClientContext asking;
        set_deadline(asking);
        etcd::AuthenticateRequest request;
        request.set_name(options_.user);
        request.set_password(password_);
        etcd::AuthenticateResponse response;
        const grpc::Status status = endpoint.users->Authenticate(&asking, request, &response);
        // a store that asks for no users needs no token
        const bool needs_none =
            status.error_message().find("authentication is not enabled") != std::string::npos;
        if (!status.ok() && !needs_none) return status;
        token_ = response.token();
    }
    if (!token_.empty()) context.AddMetadata(token_key, token_);
    return grpc::Status::OK;
}

bool EtcdConnection::forget_expired_token(const grpc::Status& status) {
    // etcd's version decides which code comes with an expired token.
    const std::string& text = status.error_message();
    const bool concerns_token = status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
                                text.find("auth token") != std::string::npos ||
                                text.find("auth store") != std::string::npos ||
                                text.find("user name is empty") != std::string::npos;
    if (!concerns_token || options_.user.empty()) return false;
    const std::lock_guard lock(mutex_);
    token_.clear();
    return true;
}

grpc::Status EtcdConnection::call(const Call& call) { return call_at(current(), call); }

grpc::Status EtcdConnection::call_at(EtcdEndpoint& endpoint, const Call& call) {
    grpc::Status status;
    for (int attempt = 0; attempt < 2; ++attempt) {
        grpc::ClientContext context;
        set_deadline(context);
        status = authorise(endpoint, context);
        if (status.ok()) status = call(endpoint, context);
        if (status.ok() || !forget_expired_token(status)) break;
    }
    if (is_endpoints_fault(status)) give_up(endpoint);
    return status;
}

}  // namespace headway
