#lang racket/base
(let loop ([blocks null])
  (loop (cons (make-bytes 1048576 1) blocks)))
