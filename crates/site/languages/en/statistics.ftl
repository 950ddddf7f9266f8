# Statistics of contests.
statistics = Statistics
statistics-not-shown = Statistics appear together with the ranking, which is not shown yet.
statistics-times = Submissions over time
statistics-since-start = Time since the start
statistics-since-first = Time since the first submission
statistics-days = { $days } d
statistics-range = { $from } to less than { $to }
statistics-results = Results by problem
statistics-rejected = Rejected
statistics-pending = Pending
statistics-basis-all = All submissions are counted.
statistics-basis-finals = One submission of each participant is counted, as in the ranking.
statistics-basis-attempts =
    Attempts are counted as in the ranking: up to the accepted one, and without compile errors.
statistics-initial = Until the full results, these are the results of the initial tests.
statistics-by-points = Participants by points
statistics-by-solved = Participants by solved problems

# Charts.
chart-numbers = Numbers as a table
chart-summary =
    Number of bars: { $bars }. The highest one is { $name } with { $count }. The table below
    contains all numbers.
