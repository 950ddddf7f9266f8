/* ---
class = "memory"
attempts = """\
fill the error queues of UDP sockets with sent packets, which the kernel charges to no cgroup"""
must = "the memory limit ends the run, or the memory stays below the limit"
held_by = """\
the supervisor counts the sockets of a run with a loopback interface; seccomp keeps the buffer \
sizes"""
with = ["loopback"]
limits = { memory = "32M" }
uncharged = true
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "RLIMIT_AS does not count kernel memory"

[[except]]
when = ["none"]
expect = "memory_limit or contained or escaped"
exception = """\
without a profile, a program can enlarge buffers beyond the size that the supervisor assumes"""
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[60000];
    long held = 0;
    for (int i = 0; i < 400; i++) {
        struct sockaddr_in to = loopback(9);
        int size = 4 << 20, fd = socket(AF_INET, SOCK_DGRAM, 0);
        uint32_t info[16] = { 0 };
        socklen_t length = sizeof info;
        if (fd < 0)
            break;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
        for (int j = 0; j < 150; j++) {
            char control[CMSG_SPACE(4)] = { 0 };
            struct iovec data = { block, sizeof block };
            struct msghdr message = { &to, sizeof to, &data, 1, control, sizeof control, 0 };
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            head->cmsg_level = SOL_SOCKET;
            head->cmsg_type = 37; /* SO_TIMESTAMPING */
            head->cmsg_len = CMSG_LEN(4);
            int when = 1 << 1 | 1 << 8; /* stamp when software sends and when it queues */
            memcpy(CMSG_DATA(head), &when, 4);
            if (sendmsg(fd, &message, MSG_DONTWAIT) < 0 && errno != ECONNREFUSED)
                break;
        }
        must(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length));
        held += info[0];
        if (held >= 96 * MIB)
            escaped("%ld MiB of errors in %d sockets", held / MIB, i + 1);
    }
}
