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
contest-public = Public: everyone
contest-time-zone-hint =
    The pages of the contest show times in this zone. Users that have chosen a time zone in their
    account see times in that zone.
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
round-full-results-thaw = after the thaw of the ranking
round-frozen = Ranking frozen
round-frozen-from = from { $from }
round-frozen-to = from { $from } to { $until }
round-start-clock = Start the clock ({ $duration })
round-clock-not-started = Clock not started
round-start-until = You can start until { $time }, for another { $left }.
round-shown-in = Problems are shown in { $time }
round-opens-itself = When the round begins, this page opens it automatically.
round-start-late = A start now leaves { $left } of { $full }, because the round ends before.
round-start-early =
    To have the full { $full }, start by { $until }. A later start leaves less time, because the
    clock stops at the end of the round.
round-start-hint = You see the problems once your clock runs. The clock cannot be stopped.

# The settings of rounds and of their problems.
round-field-hint = An empty field means no beginning or no end.
round-field-full-results = Full results from
round-field-full-results-empty =
    Empty: when the round begins, and in ICPC mode when it ends or, after a freeze, at the thaw
round-field-ranking = Ranking from
round-field-empty = Empty: when the round begins
round-copy = Copy the round
round-delete = Delete the round
round-problem-number = Number of the problem (in its address)
round-final-method = Which submission counts
round-method-best = The one with the most points
round-method-last = The last one that compiles
round-reveal = What contestants see before the full results
round-problem-version = Version of the package
round-problem-points = Points in this round (empty: those of the package)
round-problem-points-hint = The points of each submission are scaled, and rounded to hundredths.
round-version-hint =
    A new version applies to later submissions. Earlier submissions keep their results until they
    are judged again, which the next page offers.
round-judge-all-again = Judge all again
round-problem-remove = Remove from the round
round-pause = Pause judging
round-paused = Judging is paused. Submissions wait.
round-continue = Continue judging
round-move-up = Up
round-move-down = Down

# The scoring of a round.
rules-title = Scoring
rules-mode = Mode
rules-mode-points = Points of the final submissions
rules-mode-icpc = ICPC: solved problems, then penalty
rules-penalty = Penalty in minutes for each wrong attempt (ICPC mode)
rules-window-title = Personal time of each participant
rules-window = Personal time in minutes (empty: all participants have the same time)
rules-window-hint =
    With a personal time, each participant starts a clock between the start and the end of the
    round, and then sees the problems.
rules-freeze-title = Freeze of the ranking
rules-freeze = Freeze the ranking from (empty: never)
rules-thaw = Thaw the ranking from (empty: with the button)
round-save = Save the round
rules-frozen-since = The ranking has been frozen since { $time }.
rules-thaw-now = Thaw the ranking now
rules-colour = Colour in rankings and of balloons
rules-colour-save = Save the colour

# Members, and the link with which users enter.
members-none = Not a member
members-change = Add, change or remove a member
members-leave-hint =
    A user who is not a member can enter again with the link. To exclude a user, disqualify the
    participant.
members-link = Entry link
members-link-shown = Contestants can enter with this link. It is shown only now:
members-link-make = Create a new link
members-link-remove = Remove the link
members-link-hint = A new link invalidates the old one.
enter-button = Enter the contest
enter-hint = { $sign_in } or { $sign_up } to enter. You will then return to this page.
enter-sign-up = sign up

# Participants.
participants-login = Login or members
participants-organization = Organization
participants-differences = Adjustments
participants-empty = There are no participants.
participants-add-team = Add a team
participants-add-team-button = Add the team
participants-in-team = (in a team)
participants-team = Team: { $members }
participant-hidden = hidden
participant-unofficial = unofficial
participant-delay = delay { $minutes } min
participant-extra = extra time { $minutes } min
participant-penalty = penalty { $minutes } min
participant-disqualified = disqualified
participant-disqualification = Disqualification
participant-disqualify = Disqualify
participant-reinstate = Undo the disqualification
participant-reason = Reason, which the participant sees
participant-disqualify-hint =
    A disqualified participant has no place, and can neither submit, ask and print nor enter again.
    Nothing is deleted: undoing the disqualification restores the place and all results.
participant-remove = Remove the participant
participant-remove-hint = Only a participant without submissions can be removed.
participant-name-of-user = Name (empty: that of the user)
participant-unofficial-field = Unofficial: has no place in the ranking
participant-hidden-field = Hidden: only the staff sees it in the ranking
participant-delay-field = Delay of the rounds in minutes
participant-extra-field = Extra time in minutes
participant-penalty-field = Additional penalty in minutes (ICPC mode)
participant-times-hint =
    Individual times apply only to this participant. In a public contest, the times of the round
    determine what guests see.
participant-members = Members
participant-add-member = Add a member
participant-team-hint =
    Members share the team's submissions. Submissions that a member made earlier remain the member's
    own.

# Rankings.
ranking = Ranking
ranking-projector = Projector view
ranking-view = View
ranking-view-staff = Staff
ranking-view-public = Public
ranking-show = Show
ranking-not-shown = The ranking is not shown yet.
ranking-frozen =
    The ranking has been frozen since { $time }. Later submissions are shown as pending.
ranking-place = Place
ranking-solved = Solved
ranking-penalty = Penalty
ranking-sum = Sum
ranking-empty = There are no results.
ranking-icpc-hint =
    A solved problem shows +, the number of wrong attempts, and the minute of the solution. Its
    penalty is this minute plus { $minutes } minutes for each wrong attempt. A star marks the first
    solution, and a question mark the number of pending attempts.
ranking-hidden = (hidden)
ranking-unofficial = (unofficial)
ranking-first = first to solve

contest-copy-name = { $name } (copy)

# More time for a round that runs.
extend-minutes = Add minutes to the round
extend-reason = Reason, which is announced (optional)
extend-button = Add the time and announce it
extend-hint =
    The end moves, and with it a freeze that has not begun and full results that follow the end.
    Personal time does not become longer.
extend-notice = { $round } lasts { $minutes } minutes longer, until { $time }.

# Files that the staff hands in.
hand-in-title = Hand in a file
hand-in-time = Time of the submission
hand-in-time-hint = Empty: now
hand-in-reason = Reason, which the participant sees
hand-in-button = Hand in the file
hand-in-hint =
    The file counts as if the participant had submitted it at this time, which must lie within the
    participant's round. The reason is shown on the page of the submission and in the log of
    changes.

# What contestants see before the full results, from little to much.
reveal-hidden = Nothing: only that the submission has arrived
reveal-initial = The results of the initial tests
reveal-score = Also the points
reveal-verdict = Also the verdict on all tests
reveal-first = Also the first test that failed
reveal-all = Everything: the results of all tests
reveal-preview = Preview: what contestants will see
reveal-preview-part = Part of the result
reveal-part-initial = Results of the initial tests, messages of the compiler
reveal-part-score = Points
reveal-part-verdict = Verdict on all tests, such as “Wrong answer”
reveal-part-first = Name, verdict, time and memory of the first test that failed
reveal-part-tests = Results of all tests, comments of the checker
reveal-part-source = Own source
reveal-preview-hint =
    The initial tests are the samples of an ICPC package, or group 0 of a Sim package. In ICPC mode,
    contestants always see at least the verdict. From the time of the full results, they see
    everything.
yes = yes
no = no

# What contestants may submit.
submission-rules-title = Submissions
submission-rules-hint = An empty field means no limit. These rules apply to each problem of the round.
submission-rules-of-problem = An empty field means that the rule of the round applies.
submission-rules-count = Maximum number of submissions to a problem
submission-rules-interval = Least time between two submissions, in seconds
submission-rules-size = Maximum size of a source, in KiB
submission-rules-languages = Allowed languages (without a choice: all)

# The problems of a round, as a participant stands.
problem-solved = solved
problem-tried = tried
round-method-subtasks = Sum of the best points for each subtask (IOI 2017)
round-ranking-never = Never show the ranking to contestants and guests

# The form for a contest with its first round.
contest-first-round = First round
contest-first-round-field = Name of the round (empty: without a round)
contest-first-round-name = Round 1
contest-first-problems = Problems of the round
round-problem-name = Problem: type a part of its name
rules-colour-none = No colour

# Certificates.
certificates = Certificates
certificate-own = Your certificate
certificate = Certificate
certificate-last-place = Last place that gets a certificate (empty: all)
certificates-wait =
    Certificates can be printed when the full results of all rounds are shown and no ranking is
    frozen.
certificates-hint =
    { $count ->
        [one] One certificate. Print this page: it takes one sheet of paper.
       *[other] { $count } certificates. Print this page: each takes one sheet of paper.
    }
certificate-place = Place { $place } of { $all }
certificate-place-in-group = Place { $place } of { $all } in the group { $group }
certificate-missing = There is no certificate for you in this ranking.
certificate-took-part = took part
