raise "error"
