fun run () = run ()
val () = run ()
