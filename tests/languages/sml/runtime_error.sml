val () = raise Fail "error"
