missing()
