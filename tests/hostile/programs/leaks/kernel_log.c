/* ---
class = "leaks"
attempts = "read the kernel's addresses and log: kallsyms, kmsg, syslog, kcore, slabinfo, pagemap"
must = "the files do not exist, or show no address"
held_by = "seccomp; no capabilities"
with = ["proc", "root"]
--- */
#include "hostile.h"

static void attack(void)
{
    static char text[1 << 16];
    long length = syscall(SYS_syslog, 3, text, sizeof text);
    /* With dmesg_restrict off and without the profile, every user may read the log. */
    if (length > 0 && prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2)
        escaped("the kernel's log");
    static const char *const files[] = { "/proc/kmsg", "/proc/kcore", "/proc/slabinfo",
        "/proc/kpagecount", "/proc/kpageflags", "/proc/vmallocinfo" };
    for (int i = 0; i < 6; i++)
        if (file_read(files[i], text, 16) > 0)
            escaped("%s", files[i]);
    if (file_read("/proc/kallsyms", text, 4096) > 0 && text[0] != '0')
        escaped("addresses: %.40s", text);
    if (file_read("/proc/self/stack", text, 4096) > 0)
        escaped("a kernel stack");
    unsigned long page = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY);
    if (fd >= 0 && pread(fd, &page, 8, (unsigned long)&page / 4096 * 8) == 8
        && (page & ((1ul << 55) - 1)) != 0)
        escaped("physical addresses");
}
