/* ---
class = "escape"
attempts = """\
mount a version 1 cgroup hierarchy in new namespaces and name a program that the host executes"""
must = "if the mount succeeds, its files cannot be written and no cgroup can be created"
held_by = """\
seccomp; owner of the files; release_agent needs capabilities in the initial user namespace"""
repeats = ["CVE-2022-0492 (Linux, containers)"]
--- */
#include "hostile.h"

static void try(const char *what, int error)
{
    /* On version 2, the run's cgroup may belong to its user. Only writable files matter. */
    static const char *const files[][2] = {
        { "/tmp/release_agent", "/tmp/program" }, { "/tmp/notify_on_release", "1" },
        { "/tmp/tasks", "0" }, { "/tmp/memory.limit_in_bytes", "-1" }, { "/tmp/memory.max", "max" },
        { "/tmp/memory.high", "max" }, { "/tmp/memory.swap.max", "max" },
        { "/tmp/pids.max", "max" }, { "/tmp/cpu.max", "max" },
        { "/tmp/cgroup.max.descendants", "max" }, { "/tmp/cgroup.freeze", "1" },
        { "/tmp/cgroup.kill", "1" },
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        absent(files[i][0], file_write(files[i][0], files[i][1]));
    refused_or(what, mkdir("/tmp/own", 0700), error);
    must(umount2("/tmp", MNT_DETACH));
}

static void attack(void)
{
    static const char *const hierarchies[] =
        { "memory", "pids", "cpu", "cpuacct", "none,name=systemd" };
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) < 0) {
        if (errno != ENOSPC) {
            refused("unshare", -1);
            return;
        }
        /* If the limit on cgroup namespaces has been reached, use the current namespace. */
        must(unshare(CLONE_NEWUSER | CLONE_NEWNS));
    }
    for (int i = 0; i < 5; i++)
        if (mount("cgroup", "/tmp", "cgroup", 0, hierarchies[i]) == 0)
            try(hierarchies[i], EOVERFLOW);
    if (mount("cgroup2", "/tmp", "cgroup2", 0, NULL) == 0)
        try("version 2", EAGAIN); /* EAGAIN: cgroup.max.descendants */
}
