/* ---
class = "escape"
attempts = "load and unload kernel modules, directly and through requests for their features"
must = "all are refused"
held_by = "seccomp; no capabilities"
with = ["root"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused("init_module", syscall(SYS_init_module, "x", 1ul, ""));
    refused("finit_module", syscall(SYS_finit_module, 0, "", 0));
    refused("delete_module", syscall(SYS_delete_module, "loop", O_NONBLOCK));
    refused("kexec_load", syscall(SYS_kexec_load, 0ul, 0ul, NULL, 0ul));
    refused("kexec_file_load", syscall(SYS_kexec_file_load, 0, 0, 0ul, NULL, 0ul));
}
