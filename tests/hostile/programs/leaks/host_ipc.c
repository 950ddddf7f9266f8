/* ---
class = "leaks"
attempts = "attach System V shared memory of the host"
must = "the segment does not exist"
held_by = "IPC namespace"
control = "bare"
--- */
#include "hostile.h"
#include <sys/shm.h>

static void attack(void)
{
    /* The host's process that listens on the port created the segment. */
    int id = shmget(0x4d420000 | host_port, 0, 0);
    if (id >= 0)
        escaped("segment %d", id);
    if (errno != ENOENT)
        broken("shmget");
    struct shm_info info;
    if (shmctl(0, SHM_INFO, (struct shmid_ds *)&info) >= 0 && info.used_ids > 0)
        escaped("%d segments", info.used_ids);
}
