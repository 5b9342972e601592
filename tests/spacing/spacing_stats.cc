// SPDX-License-Identifier: Apache-2.0
// How exactly frames keep their distance: reads simwire's records of one run
// and prints one JSON object.
//
//   spacing_stats RECORDS LINK_BPS RATE_BYTES_PER_S WIRE_BYTES
//
// Only data frames of WIRE_BYTES (0: all) count; MAC control frames are gaps.
// Distances are in byte-times of the link.  Start k of a class that is always
// backlogged is ideally at start 0 + k * WIRE_BYTES * link / rate.  The first
// and the last frames are left out: until the senders are ahead and after the
// first of them has ended, not all classes are backlogged.  Quantile i of the
// spacings is that which i half per cent of them do not exceed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

// struct simwire_record of tests/simwire/simwire.h
struct Record {
  std::uint64_t start_ns;
  std::uint32_t wire_bytes;
  std::uint8_t protocol[2];  // as on the wire
  std::uint16_t source;

  [[nodiscard]] bool is_gap() const { return protocol[0] == 0x88 && protocol[1] == 0x08; }
};
static_assert(sizeof(Record) == 16);

struct Run {
  std::vector<Record> records;
  std::vector<double> starts;  // of the records, in byte-times since the first
  double link_bytes_per_ns = 0;
  double rate_bytes_per_s = 0;
  std::uint32_t wire_bytes = 0;

  static constexpr std::size_t margin_frames = 500;

  [[nodiscard]] bool counts(const Record& r) const {
    return !r.is_gap() && (wire_bytes == 0 || r.wire_bytes == wire_bytes);
  }
  void drop_margins() {
    const auto inner = [this, seen = std::size_t{0}](const Record& r) mutable {
      return counts(r) && ++seen > margin_frames;
    };
    records.erase(records.begin(), std::find_if(records.begin(), records.end(), inner));
    const auto last = std::find_if(records.rbegin(), records.rend(), inner);
    records.erase(last.base(), records.end());
  }
  // A record's clock counts whole nanoseconds, which are several byte-times on a
  // fast link.  But a frame that follows another without a pause starts where
  // that one ends, to the byte.
  void find_starts() {
    constexpr double rounding_ns = 2;
    starts.assign(records.size(), 0);
    for (std::size_t i = 1; i < records.size(); ++i) {
      const double by_clock =
          static_cast<double>(records[i].start_ns - records[0].start_ns) * link_bytes_per_ns;
      const double by_length = starts[i - 1] + records[i - 1].wire_bytes;
      const bool pause = std::abs(by_clock - by_length) > rounding_ns * link_bytes_per_ns;
      starts[i] = pause ? by_clock : by_length;
    }
  }
};

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last)];
}

std::vector<double> quantiles(const std::vector<double>& sorted) {
  constexpr int count = 200;
  std::vector<double> values;
  for (int i = 0; i <= count; ++i)
    values.push_back(percentile(sorted, static_cast<double>(i) / count));
  return values;
}

// Byte-times for which the wire carried nothing between two frames.
double idle_bytes(const Run& run) {
  double idle = 0;
  for (std::size_t i = 1; i < run.records.size(); ++i) {
    const double hole = run.starts[i] - run.starts[i - 1] - run.records[i - 1].wire_bytes;
    if (hole > 1) idle += hole;
  }
  return idle;
}

nlohmann::json evaluate(const Run& run) {
  std::vector<double> starts;
  double bytes = 0;
  std::size_t gaps = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    const Record& r = run.records[i];
    gaps += r.is_gap();
    if (!run.counts(r)) continue;
    starts.push_back(run.starts[i]);
    bytes += r.wire_bytes;
  }
  if (starts.size() < 2) return {{"frames", starts.size()}, {"gaps", gaps}};

  const auto frames = static_cast<double>(starts.size());
  const double frame = bytes / frames;
  const double interval =
      frame * run.link_bytes_per_ns * 1e9 / run.rate_bytes_per_s;
  double earliest = 0;
  double latest = 0;
  std::vector<double> spacings;
  for (std::size_t k = 1; k < starts.size(); ++k) {
    const double deviation = starts[k] - starts[0] - static_cast<double>(k) * interval;
    earliest = std::min(earliest, deviation);
    latest = std::max(latest, deviation);
    spacings.push_back(starts[k] - starts[k - 1]);
  }
  std::sort(spacings.begin(), spacings.end());
  const double rate = frame * (frames - 1) / (starts.back() - starts.front());
  const double asked = run.rate_bytes_per_s / (run.link_bytes_per_ns * 1e9);
  const auto back_to_back = std::count_if(spacings.begin(), spacings.end(),
                                          [&](double s) { return s < frame + 1; });
  return {{"frames", starts.size()},
          {"gaps", gaps},
          {"rate_error", rate / asked - 1},
          {"interval_bytes", interval},
          {"earliest_bytes", earliest},
          {"latest_bytes", latest},
          {"spacing_min_bytes", spacings.front()},
          {"spacing_p1_bytes", percentile(spacings, 0.01)},
          {"spacing_median_bytes", percentile(spacings, 0.5)},
          {"spacing_max_bytes", spacings.back()},
          {"spacing_quantiles_bytes", quantiles(spacings)},
          {"back_to_back_share", static_cast<double>(back_to_back) / (frames - 1)},
          {"idle_bytes", idle_bytes(run)}};
}

std::vector<Record> read_records(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<Record> records(bytes.size() / sizeof(Record));
  std::copy_n(bytes.begin(), records.size() * sizeof(Record),
              reinterpret_cast<char*>(records.data()));
  return records;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: spacing_stats RECORDS LINK_BPS RATE_BYTES_PER_S WIRE_BYTES\n");
    return 2;
  }
  Run run;
  run.records = read_records(argv[1]);
  run.link_bytes_per_ns = std::strtod(argv[2], nullptr) / 8e9;
  run.rate_bytes_per_s = std::strtod(argv[3], nullptr);
  run.wire_bytes = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  if (run.records.empty() || run.link_bytes_per_ns <= 0 || run.rate_bytes_per_s <= 0) {
    std::fprintf(stderr, "spacing_stats: no records in %s, or a rate of zero\n", argv[1]);
    return 1;
  }
  run.drop_margins();
  run.find_starts();
  std::printf("%s\n", evaluate(run).dump().c_str());
}
