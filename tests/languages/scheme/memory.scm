(let loop ((blocks (list)))
  (loop (cons (make-vector 131072 1) blocks)))
