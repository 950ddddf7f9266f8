/* ---
class = "leaks"
attempts = """\
delay writers on the host with a lease on a shared file; watch a directory with F_NOTIFY and \
inotify"""
must = "all calls are refused"
held_by = "seccomp"
with = ["shared"]
profiles = ["default"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/inotify.h>

static void attack(void)
{
    int fd = must(open("/shared/note", O_RDONLY)),
        directory = must(open("/shared", O_RDONLY | O_DIRECTORY));
    refused("F_NOTIFY", fcntl(directory, F_NOTIFY, DN_MODIFY));
    refused("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK));
    refused("F_SETLEASE with an upper half",
        syscall(SYS_fcntl, fd, 0xffffffff00000000ul | F_SETLEASE, F_RDLCK));
    refused("inotify_init", syscall(SYS_inotify_init1, 0));
}
