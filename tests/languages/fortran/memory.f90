program example
    implicit none
    type link
        character, pointer :: block(:)
    end type link
    type(link) :: last
    do
        allocate (last%block(1048576))
        last%block = "x"
        if (last%block(1) /= "x") exit
    end do
end program example
