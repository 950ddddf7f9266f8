identification division.
program-id. example.
data division.
working-storage section.
01 block pointer.
linkage section.
01 content pic x(1048576).
procedure division.
    perform until 1 = 2
        allocate 1048576 characters initialized returning block
        if block = null
            stop run returning 1
        end-if
        set address of content to block
        move all "x" to content
    end-perform
    stop run.
