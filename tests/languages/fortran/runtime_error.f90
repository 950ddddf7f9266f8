program example
    error stop 3
end program example
