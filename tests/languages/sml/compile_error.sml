val () = missing ()
