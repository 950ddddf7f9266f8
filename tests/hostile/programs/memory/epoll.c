/* ---
class = "memory"
attempts = """\
fill kernel memory with watches: many epoll instances, each of which watches all descriptors"""
must = "the memory limit ends the run, or the user's watches are exhausted"
held_by = "memory cgroup; max_user_watches"
limits = { memory = "16M" }
expect = "memory_limit or contained"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count kernel memory"
--- */
#include "hostile.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

static void attack(void)
{
    int events[300];
    long watches = 0;
    for (int i = 0; i < 300; i++)
        events[i] = must(eventfd(0, 0));
    for (int i = 0; i < 600; i++) {
        int epoll = epoll_create1(0);
        if (epoll < 0)
            return;
        for (int j = 0; j < 300; j++) {
            if (epoll_ctl(epoll, EPOLL_CTL_ADD, events[j],
                &(struct epoll_event){ .events = EPOLLIN }) < 0)
                return;
            watches++;
        }
    }
    /* Each watch uses about 200 bytes. */
    escaped("%ld watches", watches);
}
