# Times. Months are numbers, starting at 1.
time-words = { $day } { $month ->
        [1] January
        [2] February
        [3] March
        [4] April
        [5] May
        [6] June
        [7] July
        [8] August
        [9] September
        [10] October
        [11] November
       *[other] December
    } { $year }, { $clock }
time-always = from the start
time-never = never

# Time zones.
time-zone = Time zone
time-zone-of-site = As the site ({ $zone })
time-zone-of-page = As the contest or the site
zone-field-hint =
    Times in this form are in the time zone { $zone }. If the clocks show a time twice because they
    are put back, the first time counts.

# Durations.
duration-seconds = { $seconds } s
duration-minutes = { $minutes } min
duration-minutes-seconds = { $minutes } min { $seconds } s
duration-hours = { $hours } h
duration-hours-minutes = { $hours } h { $minutes } min
duration-days =
    { $days ->
        [one] { $days } day
       *[other] { $days } days
    } { $hours } h
memory-mib = { $mib } MiB
milliseconds = { $ms } ms

# The state of a round.
round-not-begun = Not started
round-begins-in = Begins in { $time }
round-running = Running
round-ends-in = Ends in { $time }
round-over = Over

# Verdicts, and states of submissions.
verdict-accepted = Accepted
verdict-wrong-answer = Wrong answer
verdict-time-limit = Time limit exceeded
verdict-memory-limit = Memory limit exceeded
verdict-output-limit = Output limit exceeded
verdict-run-time-error = Run-time error
verdict-compile-error = Compile error
status-judge-error = Judge error
status-not-judged = Not judged
status-initial = Initial tests: { $verdict }
status-judging = Judging
status-waiting = Waiting
status-received = Received

# Words that several pages use.
save = Save
name = Name
problem = Problem
user = User
time = Time
language = Language
result = Result
points = Points
visible-to = Visible to
visible-all-people = Everyone
settings = Settings
your-submissions = Your submissions

# Lists of submissions.
submission = Submission
submissions = Submissions
submissions-empty = There are no submissions.
submissions-earlier = Earlier submissions
submission-ignored = (ignored)
submission-practice = (practice)
submission-of-package = (of the package)

# The statement of a problem.
statement-time-limit = Time limit
statement-memory-limit = Memory limit
statement-kind = Kind
statement-interactive = interactive
statement-markdown = Statement ({ $language })
statement-pdf = Statement as PDF ({ $language })
statement-latex = Statement as LaTeX source ({ $language })
statement-example = Example { $number }
statement-input = Input
statement-output = Output
copy = Copy
copied = Copied

# Words for roles, scopes, and states of judgements and jobs.
role-user = User
role-teacher = Teacher
role-admin = Administrator
member-contestant = Contestant
member-moderator = Moderator
member-owner = Owner
judgement-queued = queued
judgement-running = running
judgement-done = done
judgement-fault = fault
judgement-cancelled = cancelled
job-queued = queued
job-running = running
job-stopping = stopping
job-done = done
job-failed = failed
job-cancelled = cancelled
job-add-problem = Add a problem
job-add-version = Add a version
job-change-statement = Change the statement
job-compile-statements = Compile statements
job-reset-limits = Reset the time limits
job-merge-problems = Merge problems
job-delete-problem = Delete a problem
job-delete-contest = Delete a contest
job-delete-round = Delete a round
job-delete-round-problem = Delete a problem of a round
job-compare-sources = Compare the sources of a contest

# More words that several pages use.
actions = Actions
all = All
note = Note
version = Version
state = State
role = Role
round = Round
group = Group
by = By
added = Added
started = Started
ended = Ended
delete = Delete
remove = Remove
download = Download
none = none
submit = Submit
judge-again = Judge again
your-password = Your password
label = Label
colon = { $what }: { $detail }
