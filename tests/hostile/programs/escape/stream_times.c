/* ---
class = "escape"
attempts = """\
change the times of the host's null device through a standard stream that the request does not \
give"""
must = "the file system of the device is read-only"
held_by = "the null device is opened through a read-only mount"
profiles = ["default", "none", "separate"]
control = "bare"
--- */
#include "hostile.h"

static void attack(void)
{
    struct stat device;
    must(fstat(0, &device));
    if (!S_ISCHR(device.st_mode))
        broken("standard input is not a device");
    refused("futimens", futimens(0, NULL));
    refused("fchmod", fchmod(0, 0666));
}
