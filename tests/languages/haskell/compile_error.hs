main :: IO ()
main = missing
