(throw (Exception. "error"))
