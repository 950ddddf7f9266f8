%
main(_) ->
    missing().
