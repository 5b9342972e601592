// SPDX-License-Identifier: Apache-2.0
#include "protocol/control_client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/json.hpp"
#include "base/limits.hpp"

namespace headway {
namespace {

constexpr timeval answer_deadline{.tv_sec = 5, .tv_usec = 0};

}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& path) {
    FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket) return system_failure(errno, "opening a socket: {}", std::strerror(errno));
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &answer_deadline, sizeof(answer_deadline));
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &answer_deadline, sizeof(answer_deadline));

    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) return failure("{} is too long a path", path);
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return system_failure(errno, "no headwayd answers at {}: {}", path, std::strerror(errno));
    }
    return ControlClient(std::move(socket));
}

/// The daemon sends an answer that is longer than a datagram as text, piece by piece.
Result<Json> ControlClient::request(const std::string& op, const Json& members) {
    auto answer = exchange(op, members);
    std::string text;
    while (answer && answer->contains("left")) {
        text += answer->value("text", "");
        if (answer->value("left", 0U) == 0) break;
        answer = exchange("more", Json::object());
    }
    if (!answer || text.empty()) return answer;
    Json whole = parse_json<Json>(text);
    if (!whole.is_object()) return failure("headwayd sent an answer that cannot be read");
    return whole;
}

Result<Json> ControlClient::exchange(const std::string& op, const Json& members) {
    Json request{{"v", protocol_version}, {"id", next_id_}, {"op", op}};
    request.update(members);
    const std::string datagram = json_text(request);
    if (send(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL) < 0) {
        return system_failure(errno, "asking headwayd: {}", std::strerror(errno));
    }
    std::string bytes(datagram_max_bytes, '\0');
    const ssize_t received = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (received < 0) {
        return system_failure(errno, "waiting for headwayd: {}", std::strerror(errno));
    }
    if (received == 0) return failure("headwayd closed the connection");
    bytes.resize(static_cast<std::size_t>(received));

    Json answer = parse_json<Json>(bytes);
    const bool ok = answer.is_object() && answer.contains("ok") && answer["ok"].is_boolean();
    if (!ok) return failure("headwayd sent an answer that cannot be read");
    if (!answer["ok"].get<bool>()) {
        const bool told = answer.contains("error") && answer["error"].is_string();
        return failure("headwayd: {}", told ? answer["error"].get<std::string>() : "no reason");
    }
    if (answer["id"] != next_id_++) return failure("headwayd answered another question");
    return answer;
}

}  // namespace headway
