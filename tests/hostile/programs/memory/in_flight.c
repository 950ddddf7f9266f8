/* ---
class = "memory"
attempts = """\
keep memory files only in messages between two sockets, so that no process has them open"""
must = "the memory limit ends the run"
held_by = "memory cgroup"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count files"
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[MIB] = { 1 };
    int pair[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    for (int i = 0; i < 16; i++) {
        int fd = must(memfd_create("file", 0));
        for (int j = 0; j < 10; j++)
            if (write(fd, block, MIB) < 0)
                return;
        char control[CMSG_SPACE(sizeof fd)] = { 0 };
        struct iovec one = { "x", 1 };
        struct msghdr message = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
            .msg_controllen = sizeof control };
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
        must(sendmsg(pair[0], &message, 0));
        close(fd);
    }
    escaped("160 MiB in flight");
}
