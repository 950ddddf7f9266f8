error("error")
