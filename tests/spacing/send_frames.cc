// SPDX-License-Identifier: Apache-2.0
// Keeps one class of a qdisc backlogged: sends COUNT Ethernet frames of SIZE
// bytes (without FCS) from DEV with the given priority, and sleeps only while
// its socket has as much waiting in the qdisc as it may.  It is an idle task,
// so that a busy sender never keeps the kernel from sending.
//
//   send_frames DEV SIZE PRIORITY COUNT
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// An experimental ethertype: no protocol on the other side answers it.
constexpr unsigned short ethertype = 0x88b5;
// Small frames weigh 768 bytes each here: some thousand of them wait.
constexpr int socket_bytes = 2 << 20;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "send_frames: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::vector<unsigned char> make_frame(std::size_t bytes) {
  constexpr std::array<unsigned char, 14> header{0x02, 0, 0, 0, 0, 0x99, 0x02, 0, 0, 0, 0,
                                                 0x01, ethertype >> 8, ethertype & 0xff};
  std::vector<unsigned char> frame(bytes);
  std::memcpy(frame.data(), header.data(), header.size());
  return frame;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: send_frames DEV SIZE PRIORITY COUNT\n");
    return 2;
  }
  const auto frame = make_frame(std::strtoul(argv[2], nullptr, 0));
  const int priority = static_cast<int>(std::strtol(argv[3], nullptr, 0));
  unsigned long left = std::strtoul(argv[4], nullptr, 0);

  const sched_param idle{};
  if (sched_setscheduler(0, SCHED_IDLE, &idle)) fail("idle scheduling");
  const int fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (fd < 0) fail("packet socket");
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &socket_bytes, sizeof socket_bytes) ||
      setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority))
    fail("socket option");
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ethertype);
  to.sll_ifindex = static_cast<int>(if_nametoindex(argv[1]));
  if (to.sll_ifindex == 0) fail(argv[1]);

  for (; left > 0; --left) {
    if (sendto(fd, frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to) < 0)
      fail("send");
  }
  close(fd);
}
