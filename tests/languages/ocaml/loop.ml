let () =
  while true do
    ()
  done
