1 throw
