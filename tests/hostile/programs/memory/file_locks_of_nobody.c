/* ---
class = "memory"
attempts = """\
create locks whose owner is not in /proc/locks: those of open files, and those of an ended \
process that shared its descriptors"""
must = "the calls return EINVAL"
held_by = "seccomp"
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped"
exception = "without a profile, the kernel accepts any number of such locks"
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
    /* A process may set locks. */
    must(fcntl(fd, F_SETLK, &lock));
    lock.l_start = 2;
    refused_or("a lock of an open file", fcntl(fd, F_OFD_SETLK, &lock), EINVAL);
    refused_or("a lock of an open file, waiting", fcntl(fd, F_OFD_SETLKW, &lock), EINVAL);
    refused_or("a child that shares descriptors",
        clone(locker, stack + sizeof stack, CLONE_FILES | SIGCHLD, &lock), EINVAL);
    /* A thread may share the descriptors. */
    if (threads(1, nothing) != 1)
        broken("a thread");
}
