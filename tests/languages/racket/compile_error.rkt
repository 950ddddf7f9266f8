#lang racket/base
(missing)
