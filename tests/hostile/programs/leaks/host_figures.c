/* ---
class = "leaks"
attempts = """\
read the load, the times and the interrupts of the host from /proc, also below the files that \
the world mounts there, and around those of its own that it mounts on themselves"""
must = "/proc states what the run may use, and has no file of the host"
held_by = "a procfs with only processes; read-only files of the template, whose mounts are locked"
with = ["standard"]
control = "bare"
--- */
#include "hostile.h"
#include <sys/mount.h>

static void has_no_times(void)
{
    char text[4000] = "";
    long user, nice, system, idle;
    must(file_read("/proc/stat", text, sizeof text));
    if (sscanf(text, "cpu %ld %ld %ld %ld", &user, &nice, &system, &idle) != 4)
        broken("no times");
    if (user + system + idle != 0)
        escaped("the machine was busy for %ld", user);
    must(file_read("/proc/loadavg", text, sizeof text));
    if (strncmp(text, "0.00 0.00 0.00 1/1", 18) != 0)
        escaped("the load is %s", text);
}

static void attack(void)
{
    has_no_times();
    const char *covered[] = { "/proc/stat", "/proc/loadavg", "/proc/meminfo", "/proc/sys" };
    for (unsigned at = 0; at < sizeof covered / sizeof *covered; at++) {
        if (umount2(covered[at], MNT_DETACH) == 0)
            escaped("removed %s", covered[at]);
        if (mount("/proc", "/proc", "proc", MS_REMOUNT, "subset=pid") == 0)
            escaped("changed the procfs");
        int fd = open(covered[at], O_WRONLY);
        if (fd >= 0)
            escaped("%s is writable", covered[at]);
    }
    has_no_times();
    const char *kept[] = { "/proc/mounts", "/proc/net", "/proc/sys/kernel/random/uuid" };
    for (unsigned at = 0; at < sizeof kept / sizeof *kept; at++)
        if (umount2(kept[at], MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
            escaped("removed %s", kept[at]);
    if (open("/proc/sys/kernel/random/uuid", O_WRONLY) >= 0)
        escaped("the kernel's file is writable");
    const char *hosts[] = { "interrupts", "softirqs", "vmstat", "diskstats", "schedstat", "locks",
        "kallsyms", "keys", "modules", "cmdline", "timer_list", "partitions", "kmsg",
        "sys/kernel/core_pattern", "sys/kernel/random/write_wakeup_threshold", "sys/fs/file-nr",
        "mounts/../../keys", "net/../../keys", "self/../keys" };
    for (unsigned at = 0; at < sizeof hosts / sizeof *hosts; at++) {
        char path[100];
        snprintf(path, sizeof path, "/proc/%s", hosts[at]);
        if (access(path, F_OK) == 0)
            escaped("%s exists", path);
    }
}
