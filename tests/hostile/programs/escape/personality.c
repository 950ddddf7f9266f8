/* ---
class = "escape"
attempts = """\
change its personality: executable memory, mappings at address zero, the uname of old kernels"""
must = "the call is refused"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"
#include <sys/personality.h>

static void attack(void)
{
    refused("READ_IMPLIES_EXEC", personality(READ_IMPLIES_EXEC));
    refused("MMAP_PAGE_ZERO", personality(MMAP_PAGE_ZERO));
    refused("UNAME26", personality(UNAME26));
    refused("PER_LINUX32", personality(PER_LINUX32));
}
