/* ---
class = "escape"
attempts = "raise its hard resource limits, as user 0 inside the world"
must = "setrlimit returns EPERM for each limit that is not infinite"
held_by = "no capabilities"
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
        int answer = setrlimit(resource, &more);
        if (resource != RLIMIT_CORE) {
            refused("more", answer);
            continue;
        }
        /* For this limit, setrlimit may report success without a change. */
        must(getrlimit(resource, &more));
        if (more.rlim_cur != limit.rlim_cur || more.rlim_max != limit.rlim_max)
            escaped("the core limit has changed");
    }
}
