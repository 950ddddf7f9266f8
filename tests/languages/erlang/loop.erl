%
main(_) ->
    main([]).
