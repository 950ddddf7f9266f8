/* ---
class = "escape"
attempts = "mount a new procfs and sysfs in new namespaces"
must = "the mounts are refused, or show only the program's processes and cannot be written"
held_by = "the kernel's rule that a mount must not reveal more than existing mounts; unmapped ids"
with = ["proc"]
profiles = ["none"]
--- */
#include "hostile.h"

static void init(void)
{
    char text[64];
    if (mount("proc", "/tmp", "proc", 0, NULL) == 0)
        escaped("a procfs that can be written to");
    if (mount("proc", "/tmp", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0) {
        if (file_read("/tmp/2/stat", text, sizeof text) > 0 && getpid() == 1)
            escaped("another process in the new procfs");
        refused("core_pattern", file_write("/tmp/sys/kernel/core_pattern", "|/tmp/x"));
    }
    refused("sysfs", mount("sysfs", "/tmp", "sysfs", 0, NULL));
}

static void attack(void)
{
    new_namespaces(CLONE_NEWNS | CLONE_NEWPID);
    child(init);
}
