/* ---
class = "escape"
attempts = """\
leave its cgroup, raise its limits and create cgroups, in a world that shows the hierarchies"""
must = "all are refused, because the files do not belong to the run's user"
held_by = "owner of the files; seccomp and missing capabilities for other ways"
repeats = ["CVE-2022-0492 (Linux, containers)"]
with = ["cgroups", "proc"]

[[except]]
when = ["user", "cgroup2"]
expect = "contained or escaped"
exception = "a subtree that is delegated to a user belongs to that user; do not bind it"
--- */
#include "hostile.h"

static void attack(void)
{
    static const char *const files[] = {
        "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/memory/tasks", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/cpuacct/cpuacct.usage",
        "/sys/fs/cgroup/devices/devices.allow", "/sys/fs/cgroup/unified/cgroup.procs",
        "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/cgroup.subtree_control",
        "/sys/fs/cgroup/systemd/release_agent",
    };
    static const char *const directories[] = {
        "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu",
        "/sys/fs/cgroup/unified", "/sys/fs/cgroup",
    };
    char path[200];
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        absent(files[i], open(files[i], O_WRONLY));
    for (unsigned i = 0; i < sizeof directories / sizeof *directories; i++) {
        snprintf(path, sizeof path, "%s/hostile-%d", directories[i], getpid());
        long made = mkdir(path, 0700);
        if (made == 0)
            rmdir(path);
        absent(path, made);
    }
}
