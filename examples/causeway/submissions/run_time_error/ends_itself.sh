# Sends itself SIGKILL. A judge also uses this signal at a limit, but the program reached none:
# run-time error.
kill -KILL $$
