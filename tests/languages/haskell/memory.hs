import qualified Data.Map as Map

main :: IO ()
main = fill Map.empty 0

fill :: Map.Map Int Int -> Int -> IO ()
fill numbers next
  | Map.size numbers < 0 = return ()
  | otherwise = fill (Map.insert next next numbers) (next + 1)
