raise ValueError("error")
