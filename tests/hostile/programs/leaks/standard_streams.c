/* ---
class = "leaks"
attempts = """\
leave state in the open files of the standard streams of a run without streams of its own: \
O_NONBLOCK, O_APPEND, O_ASYNC, owner, signal, lease, hint and position"""
must = "the next run has other open files"
held_by = "each run gets open files of its own for its standard streams"
with = ["null_streams"]
pair = "after"
profiles = ["default", "none", "separate"]
control = "together"
--- */
#define PAIR
#include "hostile.h"
#ifndef F_SET_FILE_RW_HINT
#define F_GET_FILE_RW_HINT (1024 + 13)
#define F_SET_FILE_RW_HINT (1024 + 14)
#endif

static const int streams[] = { 0, 1, 2 };
#define STREAMS 3

static void plant(void)
{
    uint64_t hint = 5;
    int on = 1;
    for (int i = 0; i < STREAMS; i++) {
        int fd = streams[i];
        struct f_owner_ex owner = { F_OWNER_PGRP, getpgid(0) };
        fcntl(fd, F_SETSIG, SIGRTMIN + 1);
        fcntl(fd, F_SETOWN_EX, &owner);
        fcntl(fd, F_SETOWN, getpid());
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND | O_NONBLOCK | O_ASYNC | O_NOATIME);
        /* O_ASYNC, O_NOATIME or O_DIRECT can make the whole call fail. */
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND | O_NONBLOCK);
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT);
        ioctl(fd, FIOASYNC, &on);
        fcntl(fd, F_SETLEASE, F_RDLCK);
        fcntl(fd, F_SET_FILE_RW_HINT, &hint);
        lseek(fd, 4242, SEEK_SET);
    }
}

static void look(void)
{
    for (int i = 0; i < STREAMS; i++) {
        int fd = streams[i];
        struct stat file;
        struct f_owner_ex owner = { 0 };
        uint64_t hint = 0;
        must(fstat(fd, &file));
        /* Standard output is the pipe of the test. */
        if (!S_ISCHR(file.st_mode))
            continue;
        int flags = must(fcntl(fd, F_GETFL));
        if (flags & (O_APPEND | O_NONBLOCK | O_ASYNC | O_NOATIME | O_DIRECT))
            escaped("descriptor %d: flags %o", fd, flags);
        if (fcntl(fd, F_GETSIG) > 0)
            escaped("descriptor %d: signal %d", fd, fcntl(fd, F_GETSIG));
        if (fcntl(fd, F_GETOWN_EX, &owner) == 0 && owner.pid != 0)
            escaped("descriptor %d: owner %d", fd, owner.pid);
        if (fcntl(fd, F_GETLEASE) == F_RDLCK)
            escaped("descriptor %d: a lease", fd);
        if (fcntl(fd, F_GET_FILE_RW_HINT, &hint) == 0 && hint != 0)
            escaped("descriptor %d: hint %lu", fd, (unsigned long)hint);
        if (lseek(fd, 0, SEEK_CUR) > 0)
            escaped("descriptor %d: a position", fd);
    }
}
