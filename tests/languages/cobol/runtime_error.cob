identification division.
program-id. example.
procedure division.
    stop run returning 3.
