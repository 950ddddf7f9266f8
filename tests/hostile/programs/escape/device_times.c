/* ---
class = "escape"
attempts = """\
change the times of the host's device through the standard streams of a run without streams of its \
own, and through the device in its world"""
must = "the times of the host's devices do not change"
held_by = "the standard streams are opened through the read-only mount of the world"
with = ["null_streams"]
pair = "after"
profiles = ["default", "none", "separate"]
--- */
#define PAIR
#include "hostile.h"

static void touch(const char *what, int fd)
{
    struct timespec now[2] = { { .tv_nsec = UTIME_NOW }, { .tv_nsec = UTIME_NOW } };
    struct timespec one[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
    struct timespec chosen[2] = { { 1, 2 }, { 3, 4 } };
    struct stat file;
    if (fstat(fd, &file) < 0 || !S_ISCHR(file.st_mode))
        return;
    refused(what, futimens(fd, NULL));
    refused(what, futimens(fd, now));
    refused(what, futimens(fd, one));
    refused(what, futimens(fd, chosen));
    refused(what, syscall(SYS_utimensat, fd, "", NULL, AT_EMPTY_PATH));
    refused(what, fchmod(fd, 0666));
    refused(what, fchown(fd, getuid(), getgid()));
}

static void all_streams(void)
{
    touch("standard input", 0);
    touch("standard output", 1);
    touch("standard error", 2);
}

static void plant(void)
{
    all_streams();
    const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom" };
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        int fd = open(devices[i], O_RDWR);
        touch(devices[i], fd < 0 ? open(devices[i], O_RDONLY) : fd);
    }
}

static void look(void)
{
    all_streams();
}
