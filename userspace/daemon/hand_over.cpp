// SPDX-License-Identifier: Apache-2.0
#include "daemon/hand_over.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdio>

#include "base/log.hpp"

namespace headway {
namespace {

constexpr const char* state_name = "headway-state";
/// The store's names belong to a session or to one of these.  A name that belongs to nobody may
/// stand for anything.
constexpr ControlService::SessionId all_of_them = 0;
constexpr ControlService::SessionId nobody = ~std::uint64_t{0};
/// A text that is the end of so many runs is not tried again.
constexpr std::uint32_t runs_max = 3;

std::string job_name(std::uint32_t job) { return fmt::format("headway-job-{}", job); }

std::string client_name(const PhaseSeat& seat) {
    return fmt::format("headway-client-{}-{}", seat.job, seat.slot);
}

/// Numbers a seat from 1; 0 stands for none.
std::uint64_t mark_of(const std::optional<PhaseSeat>& seat) {
    return seat ? (std::uint64_t{seat->job} << 32U | seat->slot) + 1 : 0;
}

Result<void> first_failure(const Result<void>& earlier, const Result<void>& later) {
    return earlier ? later : earlier;
}

bool has_ended(int process) {
    pollfd polled{process, POLLIN, 0};
    return poll(&polled, 1, 0) != 0;
}

}  // namespace

struct HandOver::Found {
    FileDescriptor state;
    std::vector<KeptArray> arrays;
    std::map<PhaseSeat, Connection> clients;

    void sort_in(StoredDescriptor stored) {
        PhaseSeat seat;
        if (stored.name == state_name) {
            state = std::move(stored.fd);
        } else if (std::sscanf(stored.name.c_str(), "headway-job-%u", &seat.job) == 1) {
            arrays.push_back({seat.job, std::move(stored.fd)});
        } else if (std::sscanf(stored.name.c_str(), "headway-client-%u-%u", &seat.job, &seat.slot) == 2) {
            Connection& client = clients[seat];
            const bool is_socket = sd_is_socket(stored.fd.get(), AF_UNIX, 0, -1) > 0;
            (is_socket ? client.socket : client.process) = std::move(stored.fd);
        }
    }

    /// Closes the connection of every client that is not restored, even if a child process holds
    /// the socket too.
    ~Found() {
        for (const auto& [seat, client] : clients) {
            if (client.socket) shutdown(client.socket.get(), SHUT_RDWR);
        }
    }
};

// -------------------------------------------------------------------- the next run

HandOver::TakenUp HandOver::take_up(ControlService& service,
                                    std::vector<StoredDescriptor> received) {
    if (store_ == nullptr || received.empty()) return {};
    Found found;
    for (StoredDescriptor& one : received) {
        stored_.emplace(one.name, nobody);
        found.sort_in(std::move(one));
    }
    is_behind_ = true;
    auto taken = take_up_state(service, found);
    if (!taken) {
        log_warning(log_, "HW-305 cannot take up processes that had joined, which join again: {}",
                    taken.error().message);
        memory_.reset();
        return {};
    }
    stored_[state_name] = all_of_them;
    for (const auto& [number, job] : service.handed_jobs().jobs) stored_[job_name(number)] = all_of_them;
    for (const Client& one : taken->clients) {
        stored_[client_name(*service.seat_of(one.session))] = one.session;
    }
    log_info(log_, "took up {} processes that had joined", taken->clients.size());
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
    // Every process that the earlier run tells of and that has not died is counted; it goes on if
    // its connection is there and it was not being served.
    std::size_t claimed = 0;
    std::map<PhaseSeat, Peer> peers;
    for (const auto& [seat, told] : state->clients) {
        Connection& client = found.clients[seat];
        if (client.process && has_ended(client.process.get())) continue;
        ++claimed;
        if (!client.socket || !client.process || mark_of(seat) == memory->mark()) continue;
        auto peer = peer_of(client.socket.get());
        if (!peer) continue;
        peer->process = client.process.get();
        client.peer = *peer;
        peers.emplace(seat, std::move(*peer));
    }
    memory_ = std::move(*memory);

    const bool was_complete = !state->is_incomplete;
    const auto sessions = service.restore_clients(std::move(*state), std::move(found.arrays), peers);
    if (!sessions) return tl::unexpected(sessions.error());
    TakenUp taken;
    taken.is_complete = was_complete && sessions->size() == claimed;
    for (const auto& [seat, session] : *sessions) {
        taken.clients.push_back({session, std::move(found.clients.at(seat))});
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

/// A failure is told once; the next update() tries again.
void HandOver::update(const ControlService& service, const std::function<Joined()>& joined) {
    seen_ = service.handed_changes();
    const bool is_text_all = memory_ && !is_behind_ && text_.has_jobs_of(service);
    const Result<void> done = is_text_all ? write(service) : keep(service, joined());
    is_behind_ = !done;
    const std::string warning = done ? "" : done.error().message;
    if (std::exchange(last_warning_, warning) != warning && !done) {
        log_warning(log_, "HW-306 cannot keep processes joined over a restart, trying again: {}",
                    warning);
    }
}

/// Stores every descriptor before the text that names it, and removes the others after it.  Does as
/// much as it can and returns the first failure.
Result<void> HandOver::keep(const ControlService& service, const Joined& joined) {
    AllWanted all;
    for (const auto& [seat, client] : joined) {
        const auto& [socket, peer, process] = client->connection;
        all[client_name(seat)] = {{socket.get(), process.get()}, client->session};
        PhaseMaps& maps = service.phases()->jobs().maps();
        all[job_name(seat.job)] = {{maps.slots_fd(seat.job)}, all_of_them};
        for (const auto& [name, fd] : maps.memory()) all[name] = {{fd}, all_of_them};
    }
    if (!all.empty() && !memory_) {
        auto made = StateMemory::make();
        if (!made) return tl::unexpected(made.error());
        memory_ = std::move(*made);
    }
    if (!all.empty()) all[state_name] = {{memory_->fd()}, all_of_them};
    Result<void> done;
    for (const auto& [name, what] : all) done = first_failure(done, put(name, what));
    if (memory_) done = first_failure(done, write(service));
    return first_failure(done, remove_others(all));
}

Result<void> HandOver::put(const std::string& name, const Wanted& what) {
    const auto known = stored_.find(name);
    if (known != stored_.end() && known->second == what.owner) return {};
    Result<void> done;
    if (known != stored_.end()) done = store_->remove(name);
    if (!done) return done;
    stored_.erase(name);
    done = store_->put(name, what.fds);
    if (done) stored_.emplace(name, what.owner);
    return done;
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
    std::erase_if(stored_, [&](const auto& one) {
        if (wanted.contains(one.first)) return false;
        const Result<void> removed = store_->remove(one.first);
        done = first_failure(done, removed);
        return removed.has_value();
    });
    return done;
}

/// The state's text says that nobody has joined, so the next run ignores descriptors that cannot be
/// removed now.
void HandOver::forget_all() {
    if (memory_) (void)memory_->write(handed_jobs_text({}).append(handed_text_end));
    std::erase_if(stored_, [this](const auto& one) {
        return one.first != state_name && store_->remove(one.first).has_value();
    });
    if (stored_.size() == 1 && stored_.contains(state_name)) (void)store_->remove(state_name);
    stored_.clear();
}

}  // namespace headway
