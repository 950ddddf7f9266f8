/* ---
class = "escape"
attempts = "watch what other processes do to files: fanotify"
must = "the calls are refused"
held_by = "seccomp; fanotify marks need capabilities"
with = ["root"]
--- */
#include "hostile.h"
#include <sys/fanotify.h>

static void attack(void)
{
    refused("fanotify_init with permissions",
        syscall(SYS_fanotify_init, FAN_CLASS_CONTENT, O_RDONLY));
    int fd = syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY);
    if (fd < 0)
        refused("fanotify_init", fd);
    else
        refused_or("a whole mount", syscall(SYS_fanotify_mark, fd, FAN_MARK_ADD | FAN_MARK_MOUNT,
            FAN_OPEN, AT_FDCWD, "/usr"), EINVAL);
}
