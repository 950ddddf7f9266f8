%
main(_) ->
    error(broken).
