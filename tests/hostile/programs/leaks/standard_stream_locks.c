/* ---
class = "leaks"
attempts = """\
leave a lock on the open files of the standard streams of a run without streams of its own: flock \
and OFD locks"""
must = "the locks end with the run"
held_by = "each run gets open files of its own for its standard streams"
with = ["null_streams"]
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <sys/file.h>

/* Another running program may hold a lock on the device for a moment. */
#define ATTEMPTS 2000

static void plant(void)
{
    struct flock lock = { .l_whence = SEEK_SET };
    for (int fd = 0; fd < 3; fd++) {
        flock(fd, LOCK_EX | LOCK_NB);
        lock.l_type = fd == 0 ? F_RDLCK : F_WRLCK;
        fcntl(fd, F_OFD_SETLK, &lock);
    }
}

/* The streams are different open files of the same device, so a lock of one excludes the others. */
static void look(void)
{
    const int fd = 2;
    /* The control run itself holds the lock, and other tests wait for it. */
    const int attempts = strcmp(role, "both") == 0 ? 1 : ATTEMPTS;
    for (int i = 0; i < attempts; i++) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        must(fcntl(fd, F_GETLK, &lock));
        if (lock.l_type == F_UNLCK && flock(fd, LOCK_EX | LOCK_NB) == 0)
            return;
        sleep_ms(10);
    }
    escaped("standard input is locked");
}
