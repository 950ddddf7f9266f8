fun fill blocks = fill (Array.array (131072, length blocks) :: blocks)
val () = fill []
