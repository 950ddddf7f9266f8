stop("error")
