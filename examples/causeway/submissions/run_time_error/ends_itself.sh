# Sends itself SIGKILL. A judge also sends this signal at a limit, but the program has reached no
# limit: run-time error.
kill -KILL $$
