/* ---
class = "memory"
attempts = "give files access control lists of 64 KiB, which the kernel charges to no cgroup"
must = "the calls return EOPNOTSUPP"
held_by = "seccomp"
limits = { memory = "32M" }
control = "seccomp"

[[except]]
when = ["none"]
expect = "escaped or contained"
exception = """\
without a profile, the calls are available, and the kernel charges the lists to no cgroup"""
--- */
#include "hostile.h"
#include <sys/xattr.h>

enum { ENTRIES = 8000 };

static void attack(void)
{
    static struct {
        uint32_t version;
        struct { uint16_t tag, rights; uint32_t id; } entry[ENTRIES + 4];
    } list = { 2, { { 0 } } };
    int last = 0;
    long held = 0;
    list.entry[last++] = (__typeof__(list.entry[0])){ 1, 6, -1 };
    while (last <= ENTRIES)
        list.entry[last++] = (__typeof__(list.entry[0])){ 2, 6, getuid() };
    for (int tag = 4; tag <= 0x20; tag = tag == 4 ? 0x10 : tag * 2)
        list.entry[last++] = (__typeof__(list.entry[0])){ tag, 6, -1 };
    for (int i = 0; i < 4000 && held < 96 * MIB; i++) {
        char path[20];
        snprintf(path, sizeof path, "/tmp/%d", i);
        if (mknod(path, S_IFREG | 0600, 0) < 0)
            return;
        if (setxattr(path, "system.posix_acl_access", &list, sizeof list, 0) < 0) {
            if (errno == EOPNOTSUPP)
                return;
            broken("a list");
        }
        held += sizeof list;
    }
    if (held >= 96 * MIB)
        escaped("%ld MiB of access control lists", held / MIB);
}
