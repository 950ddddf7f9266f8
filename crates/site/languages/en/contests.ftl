# Contests.
contest = Contest
contests = Contests
contests-add = Add a contest
contests-add-button = Add the contest
contests-empty = There are no contests that you can see.
contests-sign-in = Sign in to see private contests
contests-earlier = Earlier contests
contest-visible-members = Members
contest-private = Private: only members
contest-public = Public: all people
contest-tab-problems = Problems
contest-tab-ranking = Ranking
contest-tab-members = Members
contest-tab-participants = Participants
contest-tab-judge-again = Judge again
contest-change-round = Change the round
contest-no-round = No round has begun.
contest-add-round = Add a round
contest-add-round-button = Add the round
contest-copy = Copy the contest
contest-delete = Delete the contest

# The times of a round.
round-start-between = Start between
round-and = { $from } and { $until }
round-begins = Begins
round-ends = Ends
round-full-results = Full results
round-frozen = Ranking frozen
round-frozen-from = from { $from }
round-frozen-to = from { $from } to { $until }
round-start-clock = Start the clock ({ $duration })
round-start-hint = You see the problems when your clock runs. It cannot be stopped.
