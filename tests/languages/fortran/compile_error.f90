program example
    implicit none
    missing = 1
end program example
