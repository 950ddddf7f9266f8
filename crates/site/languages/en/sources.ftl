# The sources of a contest.
similar = Similar sources
similar-hint =
    Pairs of sources of different participants that share at least { $least } % of their structure.
    Names, comments and formatting do not count, and neither does what many participants have. A pair
    is a reason to compare the sources, and no proof: short and simple problems have similar
    solutions.
similar-least = At least (percent)
similar-none = No two sources are similar. Problems that were compared: { $problems }.
similar-compare = Compare the sources now
similar-again = Compare again
similar-runs = A job for this comparison waits or runs.
similar-missing = The sources have not been compared yet.
similar-made =
    { $sources ->
        [one] One source was compared on { $time }.
       *[other] { $sources } sources were compared on { $time }.
    }
similar-newer = Newer submissions are not part of this comparison.
similar-first = First participant
similar-second = Second participant
sources-archive = All sources as .zip, for JPlag, MOSS or Dolos
refusal-too-many-sources = The sources have more than { $mib } MiB. Export the contest instead.
