raise newException(ValueError, "error")
