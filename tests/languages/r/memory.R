blocks <- list()
repeat blocks[[length(blocks) + 1]] <- numeric(131072)
