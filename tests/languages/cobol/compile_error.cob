identification division.
program-id. example.
procedure division.
    display missing
    stop run.
