/* ---
class = "escape"
attempts = "open a device node in a bound directory"
must = "open returns EACCES"
held_by = "nodev on every bind"
with = ["device"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused("reading", open("/shared/device", O_RDONLY));
    refused("writing", open("/shared/device", O_WRONLY));
}
