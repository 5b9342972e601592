// SPDX-License-Identifier: Apache-2.0
// The tables of rates that the qdisc's classes have (tc-gap(8)), and the classes
// of jobs that are told apart.
//
// All classes below a trunk have the same table, so that an entry means the same
// wherever a packet waits.  There is one entry for each distinct rate of a job.
// Two jobs never share one, because each job's rates change with its part of the
// link.
//
// An entry that nobody wants any more stays as it is, because packets that are
// queued may have its number.  It serves whoever wants its rate next; only when
// no number is left, the one that has been idle longest gets another rate.
//
// Where nobody wants any entry, because the last job has gone, none limits any more, but for those
// that an earlier run left and nobody has wanted since: packets then bypass the qdisc, which makes
// a difference to those who send many small ones (tc-gap(8)).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

/// Above those of trunks and of the classes that all jobs share.
inline constexpr std::uint16_t first_phase_minor = 0x1000;

/// A job's own class, as PhaseTables makes them.
[[nodiscard]] bool is_phase_class(const ClassState& state);

/// The classes that a trunk has from the beginning.
struct TrunkClasses {
    TcHandle trunk;   ///< the parent of the others
    TcHandle shared;  ///< for packets of jobs without classes of their own, and of nobody's
};

class PhaseTables {
public:
    /// The kernel must hold these classes, and outlive this object.  It is asked for whole
    /// tables: a KernelMirror, which sends only what the kernel does not have.
    PhaseTables(TrafficControl& kernel, std::vector<TrunkClasses> trunks);

    /// While pacing is off, no entry has a limit in the kernel; what each is to be again
    /// goes on here.  The caller brings those that the kernel has to in_kernel().
    void set_off(bool is_off) { is_off_ = is_off; }

    /// The owner of an entry: a job, at a trunk, with a rate.
    struct Key {
        std::size_t trunk = 0;
        std::uint32_t job = 0;
        ClassRate alone;  ///< the rate that the phase would have if there were no other job

        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Entry {
        TableEntry number = 0;
        BytesPerSecond rate;
        std::uint32_t users = 0;
    };

    /// An entry of that rate, in every class of the trunk; every acquire() wants a
    /// release().  Fails if all numbers are in use, or the kernel refuses.
    [[nodiscard]] Result<TableEntry> acquire(const Key& key, BytesPerSecond rate);
    void release(const Key& key);

    struct RateChange {
        Key key;
        BytesPerSecond rate;
    };
    /// Entries in use get other rates, all of them or none.
    [[nodiscard]] Result<void> change_rates(std::span<const RateChange> changes);

    /// The job has a class of its own below every trunk from now on; those, by trunk.
    /// Those of `before` are it again, where they are nobody's.  Fails if the kernel refuses
    /// any; then the job has none.
    [[nodiscard]] Result<std::vector<TcHandle>> give_classes(
        std::uint32_t job, const std::vector<TcHandle>& before = {});
    /// Takes the job's own classes away.  The kernel keeps them for the next job.
    void take_classes(std::uint32_t job);

    /// Takes over what an earlier run left: entries and classes that nobody wants yet.
    void adopt(const std::vector<ClassState>& found);
    /// No packet is of a phase of the earlier run any more: its entries are as those of jobs that have ended.
    void lift_adopted();

    struct OwnClass {
        std::size_t trunk = 0;
        TcHandle classid;
        bool is_in_use = false;  ///< else its table is brought up to date when it is
    };
    [[nodiscard]] std::vector<OwnClass> own_classes() const;
    /// The table that all classes of the trunk that are in use should have now.
    [[nodiscard]] RateTable in_kernel(std::size_t trunk) const { return unless_off(table(trunk)); }
    /// The entries in use.
    [[nodiscard]] const std::map<Key, Entry>& entries() const { return entries_; }
    [[nodiscard]] const std::vector<TrunkClasses>& trunks() const { return trunks_; }

private:
    struct Idle {
        std::size_t trunk;
        TableEntry number;
        BytesPerSecond rate;
        bool is_adopted = false;  ///< processes may still be in phases of an earlier run's classifier
    };

    [[nodiscard]] RateTable table(std::size_t trunk) const;
    [[nodiscard]] Result<TableEntry> free_number(std::size_t trunk) const;
    [[nodiscard]] TcHandle free_handle() const;
    void append(std::vector<Change>& changes, std::size_t trunk, const RateTable& table) const;
    [[nodiscard]] RateTable unless_off(RateTable table) const;
    void lift_idle();
    Result<void> make_class(std::size_t trunk, TcHandle classid, bool is_there);

    TrafficControl& kernel_;
    std::vector<TrunkClasses> trunks_;
    std::map<Key, Entry> entries_;
    std::vector<Idle> idle_;  ///< the one that has been idle longest first
    std::map<std::uint32_t, std::vector<TcHandle>> owned_;  ///< by job, then by trunk
    std::vector<std::set<TcHandle>> idle_classes_;          ///< by trunk
    bool is_off_ = false;
};

}  // namespace headway
