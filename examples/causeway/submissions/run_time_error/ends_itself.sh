# Sends itself SIGKILL, which looks like what a judge does at a limit, but none was reached:
# run-time error.
kill -KILL $$
