/* ---
class = "leaks"
attempts = """\
detect with openat2 and RESOLVE_CACHED which names other processes have looked up"""
must = "openat2 seems not to exist"
held_by = "seccomp"
profiles = ["default"]
control = "seccomp"
--- */
#include "hostile.h"

#define OPENAT2 437
#define RESOLVE_CACHED 0x20

static void attack(void)
{
    uint64_t how[3] = { O_PATH, 0, RESOLVE_CACHED };
    /* Another run could have looked up this name, which does not exist. */
    access("/usr/a-name-of-another-run", F_OK);
    int answer = syscall(OPENAT2, AT_FDCWD, "/usr/a-name-of-another-run", how, sizeof how);
    if (answer < 0 && (errno == ENOENT || errno == EAGAIN))
        escaped("the kernel %s the name", errno == ENOENT ? "knows" : "does not know");
    refused("openat2", answer);
}
