// SPDX-License-Identifier: Apache-2.0
#include "daemon/hand_over.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>

#include "base/log.hpp"
#include "daemon/control_socket.hpp"

namespace headway {
namespace {

constexpr const char* state_name = "headway-state";
/// Whose a name in the store is, if not a session's.  What is nobody's is not known
/// to be what it should be.
constexpr ControlService::SessionId all_of_them = 0;
constexpr ControlService::SessionId nobody = ~std::uint64_t{0};
/// A text that is the end of so many runs is not tried again.
constexpr std::uint32_t runs_max = 3;

std::string job_name(std::uint32_t job) { return fmt::format("headway-job-{}", job); }

std::string client_name(const PhaseSeat& seat) {
    return fmt::format("headway-client-{}-{}", seat.job, seat.slot);
}

/// Of a seat; 0: nobody's.
std::uint64_t mark_of(const std::optional<PhaseSeat>& seat) {
    return seat ? (std::uint64_t{seat->job} << 32U | seat->slot) + 1 : 0;
}

bool is_socket(int fd) {
    int type = 0;
    socklen_t length = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
}

bool has_ended(int process) {
    pollfd polled{process, POLLIN, 0};
    return poll(&polled, 1, 0) != 0;
}

}  // namespace

std::map<std::string, int> memory_of(const std::vector<StoredDescriptor>& received) {
    std::map<std::string, int> fds;
    for (const StoredDescriptor& one : received) fds.emplace(one.name, one.fd.get());
    return fds;
}

struct HandOver::Found {
    /// What is stored of a process.
    struct Client {
        FileDescriptor socket;
        FileDescriptor process;
    };

    FileDescriptor state;
    std::vector<KeptArray> arrays;
    std::map<PhaseSeat, Client> clients;

    void sort_in(StoredDescriptor stored) {
        PhaseSeat seat;
        if (stored.name == state_name) {
            state = std::move(stored.fd);
        } else if (std::sscanf(stored.name.c_str(), "headway-job-%u", &seat.job) == 1) {
            arrays.push_back({seat.job, std::move(stored.fd)});
        } else if (std::sscanf(stored.name.c_str(), "headway-client-%u-%u", &seat.job, &seat.slot) == 2) {
            Client& client = clients[seat];
            (is_socket(stored.fd.get()) ? client.socket : client.process) = std::move(stored.fd);
        }
    }

    [[nodiscard]] bool is_dead(const PhaseSeat& seat) const {
        const auto one = clients.find(seat);
        return one != clients.end() && one->second.process && has_ended(one->second.process.get());
    }
    [[nodiscard]] std::size_t dead(const HandedState& told) const {
        return static_cast<std::size_t>(
            std::count_if(told.clients.begin(), told.clients.end(),
                          [&](const auto& one) { return is_dead(one.first); }));
    }
    /// Of all that the earlier run tells of, those whose connection and process are there.
    [[nodiscard]] std::map<PhaseSeat, Peer> living(const HandedState& told) const {
        std::map<PhaseSeat, Peer> peers;
        for (const auto& [seat, client] : clients) {
            if (!client.socket || !client.process || is_dead(seat) || !told.clients.contains(seat)) continue;
            auto peer = peer_of(client.socket.get());
            if (!peer) continue;
            peer->process = client.process.get();
            peers.emplace(seat, *peer);
        }
        return peers;
    }

    /// Those that are not taken up have been told so, whoever else holds the socket.
    ~Found() {
        for (const auto& [seat, client] : clients) {
            if (client.socket) shutdown(client.socket.get(), SHUT_RDWR);
        }
    }
};

// -------------------------------------------------------------------- the next run

HandOver::TakenUp HandOver::take_up(ControlService& service,
                                    std::vector<StoredDescriptor> received) {
    if (received.empty()) return {};
    Found found;
    for (StoredDescriptor& one : received) {
        stored_.emplace(one.name, nobody);
        found.sort_in(std::move(one));
    }
    is_behind_ = true;
    auto taken = take_up_state(service, found);
    if (!taken) {
        log_warning(log_, "HW-305 processes that had joined have to join again: {}", taken.error().message);
        memory_.reset();
        return {};
    }
    stored_[state_name] = all_of_them;
    for (const auto& [number, job] : service.handed_jobs().jobs) stored_[job_name(number)] = all_of_them;
    for (const Returned& one : taken->clients) {
        stored_[client_name(*service.seat_of(one.session))] = one.session;
    }
    log_info(log_, "{} processes that had joined go on", taken->clients.size());
    return std::move(*taken);
}

Result<HandOver::TakenUp> HandOver::take_up_state(ControlService& service, Found& found) {
    if (!found.state) return failure("what they hang on was not kept");
    auto memory = StateMemory::open(std::move(found.state));
    if (!memory) return tl::unexpected(memory.error());
    if (memory->begun() >= runs_max) return failure("{} runs that took it up have ended", runs_max);
    if (memory->text().empty()) return failure("it was too much to be kept");
    auto state = parse_handed_state(memory->text());
    if (!state) return tl::unexpected(state.error());
    memory->set_begun(memory->begun() + 1);
    auto peers = found.living(*state);
    std::erase_if(peers, [&](const auto& one) { return mark_of(one.first) == memory->mark(); });
    memory_ = std::move(*memory);

    const bool was_complete = !state->is_incomplete;
    const std::size_t claimed = state->clients.size() - found.dead(*state);
    const auto sessions = service.restore_clients(std::move(*state), std::move(found.arrays), peers);
    if (!sessions) return tl::unexpected(sessions.error());
    TakenUp taken;
    taken.is_complete = was_complete && sessions->size() == claimed;
    for (const auto& [seat, session] : *sessions) {
        Found::Client& client = found.clients.at(seat);
        taken.clients.push_back({session, peers.at(seat), std::move(client.socket), std::move(client.process)});
    }
    return taken;
}

// -------------------------------------------------------------------------- as text

const std::string& HandedText::of(const ControlService& service) {
    if (!has_jobs_of(service)) {
        job_changes_ = service.handed_job_changes();
        jobs_ = handed_jobs_text(service.handed_jobs());
        clients_.clear();
    }
    whole_ = jobs_;
    if (whole_.empty()) return whole_;
    service.for_each_joined([&](ControlService::SessionId id, std::uint64_t changes) {
        auto& [seen, text] = clients_[id];
        if (text.empty() || seen != changes) {
            text = service.handed_text_of(id);
            seen = changes;
        }
        if (whole_.back() == '}') whole_ += ',';
        whole_ += text;
    });
    return whole_ += handed_text_end;
}

// -------------------------------------------------------------------------- this run

void HandOver::begin_request(const std::optional<PhaseSeat>& seat) {
    served_ = mark_of(seat);
    if (memory_) memory_->set_mark(served_);
}

/// What the text tells of is there before it, and goes after it.
void HandOver::update(const ControlService& service, const std::function<Joined()>& joined) {
    seen_ = service.handed_changes();
    if (memory_ && !is_behind_ && text_.has_jobs_of(service)) return told(write(service));
    const AllWanted all = wanted(service, joined());
    Result<void> done;
    if (!all.empty() && !memory_) {
        auto made = StateMemory::make();
        if (!made) return told(tl::unexpected(made.error()));
        memory_ = std::move(*made);
    }
    AllWanted with_text = all;
    if (!all.empty()) with_text[state_name] = {{memory_->fd()}, all_of_them};
    done = put_all(with_text);
    if (memory_) {
        const auto written = write(service);
        if (done) done = written;
    }
    const auto removed = remove_others(with_text);
    told(done ? removed : done);
}

HandOver::AllWanted HandOver::wanted(const ControlService& service, const Joined& joined) {
    AllWanted all;
    for (const auto& [seat, client] : joined) {
        all[client_name(seat)] = {{client.socket, client.process}, client.session};
        all[job_name(seat.job)] = {{service.slots_fd_of(seat.job)}, all_of_them};
        for (const auto& [name, fd] : service.memory()) all[name] = {{fd}, all_of_them};
    }
    return all;
}

/// As many as can be; the first failure.
Result<void> HandOver::put_all(const AllWanted& wanted) {
    Result<void> done;
    for (const auto& [name, what] : wanted) {
        const auto put_now = put(name, what);
        if (done) done = put_now;
    }
    return done;
}

Result<void> HandOver::put(const std::string& name, const Wanted& what) {
    const auto known = stored_.find(name);
    if (known != stored_.end() && known->second == what.owner) return {};
    if (known != stored_.end()) {
        if (auto removed = store_.remove(name); !removed) return removed;
        stored_.erase(known);
    }
    if (auto put = store_.put(name, what.fds); !put) return put;
    stored_.emplace(name, what.owner);
    return {};
}

Result<void> HandOver::write(const ControlService& service) {
    memory_->set_mark(served_);
    const std::string& text = text_.of(service);
    const bool fits = !text.empty() && memory_->write(text);
    if (!fits) (void)memory_->write("");
    memory_->set_begun(0);
    return fits ? Result<void>() : failure("the jobs have too many phases to be kept");
}

Result<void> HandOver::remove_others(const AllWanted& wanted) {
    Result<void> done;
    for (auto one = stored_.begin(); one != stored_.end();) {
        Result<void> removed;
        const bool goes = !wanted.contains(one->first);
        if (goes) removed = store_.remove(one->first);
        if (done) done = removed;
        one = goes && removed ? stored_.erase(one) : std::next(one);
    }
    return done;
}

/// A failure is told once; the next update() tries again.
void HandOver::told(const Result<void>& done) {
    is_behind_ = !done;
    const std::string warning = done ? "" : done.error().message;
    if (!done && warning != last_warning_) {
        log_warning(log_, "HW-306 after a restart processes would have to join again: {}", warning);
    }
    last_warning_ = warning;
}

/// What cannot be removed now, the next run does not take up.
void HandOver::forget_all() {
    if (memory_) (void)memory_->write(handed_jobs_text({}).append(handed_text_end));
    for (const auto& [name, owner] : stored_) (void)store_.remove(name);
    stored_.clear();
}

}  // namespace headway
