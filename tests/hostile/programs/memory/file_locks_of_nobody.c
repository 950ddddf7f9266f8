/* ---
class = "memory"
attempts = "make locks of which /proc/locks does not say whose they are: those of open files, and those of a process that shares its descriptors and ends"
must = "EINVAL"
held_by = "seccomp"
control = "seccomp"
except = [
  { when = ["none"], expect = "escaped", exception = "without a profile the kernel takes such locks, of which there may be any number" },
]
--- */
#include "hostile.h"

static char stack[65536] __attribute__((aligned(16)));
static int fd;

static int locker(void *lock)
{
    return fcntl(fd, F_SETLK, lock) != 0;
}

static void *nothing(void *argument)
{
    return argument;
}

static void attack(void)
{
    fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600));
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    /* Those of a process do work. */
    must(fcntl(fd, F_SETLK, &lock));
    lock.l_start = 2;
    refused_or("a lock of an open file", fcntl(fd, F_OFD_SETLK, &lock), EINVAL);
    refused_or("a lock of an open file, waiting", fcntl(fd, F_OFD_SETLKW, &lock), EINVAL);
    refused_or("a child with our descriptors", clone(locker, stack + sizeof stack, CLONE_FILES | SIGCHLD, &lock), EINVAL);
    /* A thread may. */
    if (threads(1, nothing) != 1)
        broken("a thread");
}
