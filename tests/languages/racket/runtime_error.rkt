#lang racket/base
(error "error")
