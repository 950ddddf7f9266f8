/* ---
class = "results"
attempts = """\
exhaust the resources that the kernel counts for a user while another run is active: pages in \
pipes, descriptors in flight, keys, watches"""
must = "a neighbour still starts and ends"
held_by = "limits; the sandbox needs few of these resources"
pair = "beside"
with = ["proc"]
--- */
#define PAIR
#include "hostile.h"
#include <sys/epoll.h>

static void plant(void)
{
    for (int i = 0; i < 400; i++) {
        int ends[2];
        if (pipe2(ends, O_NONBLOCK) < 0)
            break;
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 18);
    }
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) == 0)
        for (int i = 0; i < 200; i++) {
            char control[CMSG_SPACE(200 * sizeof(int))] = { 0 };
            struct iovec one = { "x", 1 };
            struct msghdr message = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
                .msg_controllen = sizeof control };
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            head->cmsg_level = SOL_SOCKET;
            head->cmsg_type = SCM_RIGHTS;
            head->cmsg_len = CMSG_LEN(200 * sizeof(int));
            if (sendmsg(pair[0], &message, 0) < 0)
                break;
        }
    stay();
}

static void look(void)
{
    int ends[2];
    must(pipe(ends));
    must(write(ends[1], "x", 1));
    if (must(fork()) == 0)
        _exit(0);
    must(wait(NULL));
}
