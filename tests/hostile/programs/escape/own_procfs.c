/* ---
class = "escape"
attempts = "mount a procfs and a sysfs of its own, in namespaces of its own"
must = "they are refused, or show nothing but its own and take no writing"
held_by = "the kernel's rule that a mount must reveal no more than is visible already; ids that are not mapped"
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
