main :: IO ()
main = print (run 0)

run :: Int -> Int
run number = if number < 0 then number else run (mod (number + 1) 1000)
