/* ---
class = "escape"
tries = "mount a version 1 cgroup hierarchy in namespaces of its own, and name a program that the host executes"
must = "its files, if it can be mounted at all, cannot be written to, and no cgroup can be made"
held_by = "seccomp; owner of the files; release_agent takes capabilities outside"
repeats = ["CVE-2022-0492 (Linux, containers)"]
--- */
#include "hostile.h"

static void try(const char *what)
{
    static const char *const files[] = {
        "/tmp/release_agent", "/tmp/notify_on_release", "/tmp/cgroup.procs", "/tmp/tasks", "/tmp/memory.limit_in_bytes",
        "/tmp/memory.max", "/tmp/pids.max", "/tmp/cgroup.subtree_control", "/tmp/cgroup.kill", "/tmp/cgroup.freeze",
    };
    for (int i = 0; i < 10; i++)
        absent(files[i], open(files[i], O_WRONLY));
    refused_or(what, mkdir("/tmp/own", 0700), EOVERFLOW);
    must(umount2("/tmp", MNT_DETACH));
}

static void attack(void)
{
    static const char *const hierarchies[] = { "memory", "pids", "cpu", "cpuacct", "none,name=systemd" };
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) < 0) {
        refused("unshare", -1);
        return;
    }
    for (int i = 0; i < 5; i++)
        if (mount("cgroup", "/tmp", "cgroup", 0, hierarchies[i]) == 0)
            try(hierarchies[i]);
    if (mount("cgroup2", "/tmp", "cgroup2", 0, NULL) == 0)
        try("version 2");
}
