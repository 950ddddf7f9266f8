let () = failwith "error"
