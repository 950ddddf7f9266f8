/* ---
class = "escape"
tries = "raise its resource limits, and change pid1's"
must = "hard limits cannot be raised, pid1's not at all be changed"
held_by = "no capabilities; pid1's credentials are others"
with = ["root"]
profiles = ["default", "none", "separate"]
--- */
#include "hostile.h"

static void attack(void)
{
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit, more;
        must(getrlimit(resource, &limit));
        if (limit.rlim_max == RLIM_INFINITY)
            continue;
        more = (struct rlimit){ limit.rlim_cur, limit.rlim_max + 1 };
        refused("more", setrlimit(resource, &more));
    }
}
