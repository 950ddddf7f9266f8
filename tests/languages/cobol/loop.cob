identification division.
program-id. example.
procedure division.
    perform until 1 = 2
        continue
    end-perform
    stop run.
