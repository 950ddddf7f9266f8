/* ---
class = "memory"
attempts = "fill the kernel with watches: many epoll instances, each of which watches all descriptors"
must = "the memory limit ends it, or the watches of one user are used up"
held_by = "memory cgroup; max_user_watches"
limits = { memory = "16M" }
expect = "memory_limit or contained"
except = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count the kernel's memory" }]
control = "limits"
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
            if (epoll_ctl(epoll, EPOLL_CTL_ADD, events[j], &(struct epoll_event){ .events = EPOLLIN }) < 0)
                return;
            watches++;
        }
    }
    /* About 200 bytes each. */
    escaped("%ld watches", watches);
}
