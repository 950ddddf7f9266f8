throw new Exception("error")
