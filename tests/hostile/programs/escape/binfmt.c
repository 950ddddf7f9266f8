/* ---
class = "escape"
attempts = """\
make the kernel execute an interpreter of the program: binfmt_misc, core_pattern, modprobe, \
hotplug, sysrq"""
must = "the files do not exist or are read-only"
held_by = "read-only procfs; user namespace"
with = ["proc", "root"]
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const files[] = {
        "/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/proc/sysrq-trigger",
        "/proc/sys/kernel/ns_last_pid", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/hostname",
        "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces",
        "/proc/self/attr/current", "/proc/self/uid_map", "/proc/self/gid_map",
        "/proc/self/setgroups", "/proc/self/loginuid", "/proc/self/timerslack_ns",
        "/proc/self/comm", "/proc/irq/0/smp_affinity", "/proc/mtrr", "/proc/scsi/scsi",
        "/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/timer_list", "/proc/keys",
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        absent(files[i], open(files[i], O_WRONLY));
    refused("binfmt_misc", mount("none", "/tmp", "binfmt_misc", 0, NULL));
}
