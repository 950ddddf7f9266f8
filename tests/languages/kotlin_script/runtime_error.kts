throw Exception("error")
