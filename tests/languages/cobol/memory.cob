identification division.
program-id. example.
data division.
working-storage section.
01 place pointer.
linkage section.
01 octets pic x(1048576).
procedure division.
    perform until 1 = 2
        allocate 1048576 characters initialized returning place
        if place = null
            stop run returning 1
        end-if
        set address of octets to place
        move all "x" to octets
    end-perform
    stop run.
