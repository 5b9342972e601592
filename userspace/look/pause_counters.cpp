// SPDX-License-Identifier: Apache-2.0
#include "look/pause_counters.hpp"

#include <libmnl/libmnl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "kernel/netlink_attributes.hpp"

namespace headway {
namespace {

NetlinkMessage generic_message(std::uint16_t family, std::uint8_t command, std::uint8_t version) {
    NetlinkMessage message;
    nlmsghdr* header = mnl_nlmsg_put_header(message.header());
    header->nlmsg_type = family;
    header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    auto* generic = static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(header, sizeof(genlmsghdr)));
    generic->cmd = command;
    generic->version = version;
    return message;
}

std::optional<std::uint16_t> decode_family(const nlmsghdr* message) {
    const auto at = attribute_table<CTRL_ATTR_MAX>(attributes_of(message, sizeof(genlmsghdr)));
    const auto number = attribute_bytes(at[CTRL_ATTR_FAMILY_ID]);
    if (number.size() < sizeof(std::uint16_t)) return std::nullopt;
    return mnl_attr_get_u16(at[CTRL_ATTR_FAMILY_ID]);
}

std::optional<std::uint64_t> count_in(const nlattr* attribute) {
    if (attribute_bytes(attribute).size() < sizeof(std::uint64_t)) return std::nullopt;
    return mnl_attr_get_u64(attribute);
}

}  // namespace

std::optional<PauseFrames> decode_pause_frames(const nlmsghdr* message) {
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(genlmsghdr))) return std::nullopt;
    const auto at = attribute_table<ETHTOOL_A_PAUSE_STATS>(attributes_of(message, sizeof(genlmsghdr)));
    const auto counts =
        attribute_table<ETHTOOL_A_PAUSE_STAT_MAX>(attribute_bytes(at[ETHTOOL_A_PAUSE_STATS]));
    return PauseFrames{count_in(counts[ETHTOOL_A_PAUSE_STAT_RX_FRAMES]),
                       count_in(counts[ETHTOOL_A_PAUSE_STAT_TX_FRAMES])};
}

PauseFrames read_pause_frames(const std::string& interface) {
    auto transport = MnlTransport::open(NETLINK_GENERIC);
    if (!transport) return {};
    NetlinkExchange kernel(*transport);
    NetlinkMessage question = generic_message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
    mnl_attr_put_strz(question.header(), CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
    const auto family = kernel.query<std::uint16_t>(question, decode_family);
    if (!family || family->empty()) return {};
    question = generic_message(family->back(), ETHTOOL_MSG_PAUSE_GET, ETHTOOL_GENL_VERSION);
    nlattr* header = mnl_attr_nest_start(question.header(), ETHTOOL_A_PAUSE_HEADER);
    mnl_attr_put_strz(question.header(), ETHTOOL_A_HEADER_DEV_NAME, interface.c_str());
    mnl_attr_put_u32(question.header(), ETHTOOL_A_HEADER_FLAGS, ETHTOOL_FLAG_STATS);
    mnl_attr_nest_end(question.header(), header);
    const auto found = kernel.query<PauseFrames>(question, decode_pause_frames);
    return found && !found->empty() ? found->back() : PauseFrames{};
}

}  // namespace headway
