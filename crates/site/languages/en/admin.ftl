# Users as administrators see them.
users = Users
users-add = Add users
users-csv = Export as CSV
users-json = Export as JSON
users-sign-up = Sign-up
users-since = Since
users-role-and-state = Role and state
users-disabled = { $role }, disabled
users-further = More users
user-confirm = Type the login to confirm
user-into = Login of the user to keep
user-disable = Disabled: the user cannot sign in
user-sign-in = Sign-in
user-reset-shown =
    The user can choose a new password with the following link, once and within 24 hours. The link is
    shown only now:
user-reset-make = Create a link for a new password
user-sessions-end = End all sessions
user-merge = Merge into another user
user-merge-hint =
    Submissions, problems and memberships move to the other user, and the higher of both roles is
    kept. This cannot be undone.
user-merge-button = Merge
user-delete-hint =
    All submissions of the user are deleted, even from past rankings. The user's problems become
    yours. This cannot be undone. To keep results, disable the user instead.
user-delete = Delete the user
sign-up-new-users = New users
sign-up-open = Anyone can sign up
sign-up-link = Only with the link of this site
sign-up-closed = Only administrators add users
sign-up-link-shown = People can sign up with this link. It is shown only now:
sign-up-hint = Saving the second choice creates a new link and invalidates the old one.

# Wrong passwords.
relax-title = Wrong passwords
relax-until = Wrong passwords lock no login until { $time }.
relax-hours = Hours in which wrong passwords lock no login
relax-hint =
    Ten wrong passwords lock a login for 15 minutes at the address from which they came. If all
    contestants of a round share an address, a contestant could lock other users' logins. Use this
    setting only with passwords that cannot be guessed. Browsers in which a user has signed in
    before are never locked by others.
mistake-relax-hours = The number of hours must be between 0 and { $max }.

# Jobs.
jobs = Jobs
job = Job
job-what = Task
job-subject = Problem or contest
job-title = Job #{ $id }
jobs-empty = There are no jobs.
job-log = Log
job-log-download = Download the log
job-stop = Stop the job
job-restart = Start the job again

# The queue, the log of changes, and faults.
queue = Queue
queue-priority = Priority
queue-attempt = Attempt
queue-worker = Worker
queue-queued = Queued
queue-fault = Fault
audit-title = Log of changes
audit-action = Action
audit-object = Object
audit-filter = Filter
audit-address = Address
audit-empty = There are no changes.
audit-refused = refused
audit-earlier = Earlier changes
faults = Faults
fault-title = Fault #{ $id }
faults-lead =
    Failures that prevented judging. The affected submissions wait until the fault is closed.
fault-what = What failed
fault-first = First
fault-last = Last
fault-package = The package cannot be judged
fault-machine = The judge failed several times
fault-closed = closed { $time }
fault-open = open
faults-empty = There are no faults.
fault-version = { $problem }, version { $version }
fault-waiting = Waiting submissions
fault-close = Close the fault and judge the submissions again
fault-close-hint =
    They are judged with the version that their rounds or problems currently use. The fault stays
    open while submissions wait that you do not manage.
fault-evidence = Evidence
fault-attempt = Submission #{ $submission }, attempt { $attempt }, { $time }
fault-attempt-worker =
    Submission #{ $submission }, attempt { $attempt }, worker { $worker }, { $time }

# Workers on other machines.
workers = Workers
workers-lead = Workers judge submissions on other machines.
workers-empty = There are no workers. Add one with { $command }.
workers-different = Different versions
workers-different-hint =
    These languages are installed in different versions, so a verdict may depend on the machine.
    Install the same versions everywhere.
workers-same-hint =
    Only the version of the site is used, or that of most workers if the site does not judge. A worker with a different one does not judge that language.
worker-load = Judging / slots
worker-speed = CPU time of a fixed computation
worker-classes = Classes
worker-languages = Languages
worker-program = Program
worker-seen = Last seen
worker-ready = ready
worker-away = away
worker-new = never seen
worker-disabled = disabled
worker-probation = on probation
worker-probation-since = Since { $time }, because it failed on submissions that others judged. It judges again once it has judged a known submission.
worker-trust = End the probation of { $name }
worker-enable = Enable { $name }
worker-disable = Disable { $name }

# Rejudgings.
rejudgings = Rejudgings
rejudgings-all = All rejudgings
rejudging = Rejudging
rejudging-title = Rejudging #{ $id }
rejudging-new = Judge submissions again
rejudging-reason = Reason
rejudgings-empty = There are no rejudgings.
rejudging-to-judge = { $count } to judge
rejudging-waits = waiting for a decision
rejudging-applied = applied
rejudging-dropped = dropped
rejudging-lead =
    The current results and ranks do not change until you apply the new results. Empty fields select
    all submissions.
rejudging-round-problem = Problem of a round
rejudging-version = Version of the package
rejudging-version-of = { $problem }, version { $number }
rejudging-chosen = Submissions chosen
rejudging-narrow = Update the choices
rejudging-narrow-hint =
    This button shows the rounds and problems of the chosen contest, and the versions of the chosen
    problem.
rejudging-user = User (login)
rejudging-verdict = Current verdict
rejudging-repeats = Repeats
rejudging-verdicts = Verdicts
rejudging-changed = Submissions with a different result
rejudging-without = { $count ->
        [one] { $count } submission has no new result and keeps the old one.
       *[other] { $count } submissions have no new result and keep the old one.
    }
rejudging-apply = Apply the new results
rejudging-drop = Keep the old results
rejudging-repeat = Repeat
rejudging-no-verdict = None
rejudging-no-results = There are no new results.
rejudging-old-verdict = Old verdict
rejudging-new-verdict = New: { $verdict }
rejudging-old-result = Old result
rejudging-new-result = New result
rejudging-changes = { $count ->
        [one] { $count } submission changes.
       *[other] { $count } submissions change.
    }
rejudging-ranks = Ranks: { $contest }
rejudging-old-place = Old place
rejudging-old-sum = Old sum
rejudging-new-place = New place
rejudging-new-sum = New sum
rejudging-no-change = No place and no sum changes.
rejudging-decide-hint =
    If you apply the new results, they count at once. If you keep the old results, the new ones are
    discarded.
