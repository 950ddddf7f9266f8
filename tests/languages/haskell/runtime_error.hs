main :: IO ()
main = error "error"
