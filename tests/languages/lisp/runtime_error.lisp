(error "error")
