/* ---
class = "escape"
attempts = "read and write the memory of pid1: process_vm_writev, /proc/1/mem, process_madvise"
must = "all are refused"
held_by = "seccomp; pid1 is not dumpable"
profiles = ["default", "none", "separate"]
with = ["proc"]
--- */
#include "hostile.h"
#include <sys/uio.h>

static void attack(void)
{
    char byte = 0;
    struct iovec ours = { &byte, 1 }, its = { (void *)0x400000, 1 };
    refused("process_vm_readv", process_vm_readv(1, &ours, 1, &its, 1, 0));
    refused("process_vm_writev", process_vm_writev(1, &ours, 1, &its, 1, 0));
    static const char *const files[] =
        { "mem", "maps", "environ", "auxv", "syscall", "stack", "pagemap", "exe", "root/", "cwd/",
        "fd/0", "fd", "task/1/mem", "timers", "map_files", "personality" };
    for (int i = 0; i < 16; i++) {
        char path[40];
        snprintf(path, sizeof path, "/proc/1/%s", files[i]);
        int fd = open(path, O_RDONLY);
        /* Every process may open some of these files, but their content reveals nothing. */
        if (fd >= 0 && read(fd, &byte, 1) > 0)
            escaped("%s can be read", path);
        if (fd >= 0 && strcmp(files[i], "mem") == 0)
            escaped("mem is open");
        close(fd);
        if (open(path, O_WRONLY) >= 0)
            escaped("%s can be written", path);
    }
    int pid1 = must(syscall(SYS_pidfd_open, 1, 0));
    refused("process_madvise", syscall(SYS_process_madvise, pid1, &its, 1, MADV_COLD, 0));
    refused("kcmp", syscall(SYS_kcmp, getpid(), 1, 1, 0, 0));
}
