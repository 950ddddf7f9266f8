# Sending a source.
submit-by-name = From the file name
submit-file = File
submit-file-title = Submit a file
submit-file-hint = If you choose a file, it is sent instead of the source below.
submit-source = Source
submit-tab-hint = Tab indents. To leave the field with Tab, press Escape first.
submit-ignore = Ignore this submission in the ranking
submit-to = Submit to { $problem }

# Trying a program.
try-title = Try: { $problem }
try-interactive = Programs for this problem communicate with an interactor, so they cannot be tried.
try-source = Or the source itself
try-run = Run
try-hint = The program runs with the limits of the problem. Nothing is stored.
try-compile-error = The compiler rejected the source.
try-failed = The program failed: { $failure }
try-ended = The program ended normally.
try-rest = The rest is not shown.

# A submission.
submissions-all = All submissions
submission-title = Submission #{ $id }
submission-judge-failed = The judge failed
submission-compiler = Compiler
submission-progress = { $done } of { $all } tests are judged.
submission-tests = Tests
submission-full-results = Full results: { $time }
submission-download = Download { $file }
submission-changes = Changes since submission #{ $id }
submission-too-large = Sources of more than { $kib } KiB are neither compared nor highlighted.
submission-same = Both sources are the same.
submission-ignored-in-ranking = (ignored in the ranking)
submission-package-own = (submission of the package)
submission-cpu-time = Maximum CPU time
submission-memory = Maximum memory
submission-judgements = Judgements
submission-judgement = Judgement
submission-rejudging = Rejudging
submission-counts = { $state }, counts
submission-test = Test
submission-memory-column = Memory
submission-comment = Comment
submission-groups = Groups
submission-groups-hint =
    The points of the groups are those of the package. The problem is worth { $points } points in
    this round.
submission-ignore = Ignore in the ranking
submission-count = Count in the ranking
submission-stop = Stop judging
submission-handed-in = Handed in
submission-by-staff = by the staff
submit-left = You have { $left } of { $max } submissions left.
submit-size = A source can have at most { $kib } KiB.
submit-next = You can submit again from { $time }.
submit-interval = After a submission, you must wait { $seconds } seconds before the next.

# Practice.
practice-submit = Submit for practice
submit-not-open =
    Nothing was submitted, because the round does not accept this submission now. Copy the source
    from this page. When the page of the problem has the button Submit for practice, you can submit
    it there.
practice-hint =
    The round is over. This submission is for practice: it changes no result and no ranking.
virtual-title = Virtual participation
virtual-lead =
    The round is over. You can take part in it virtually, with a clock of your own. Your submissions
    for practice count for the ranking on this page, which shows the results of the participants
    after the same time in the round. No result of the round changes, and hints and solutions are
    closed for you until your clock ends.
virtual-start = Start now for { $duration }
virtual-end = End now
virtual-lasts = It lasts { $duration }, and you can end it earlier.
virtual-closed = closed: another round needs it
virtual-no-problem =
    No problem of this round can be practised now, because other rounds with these problems
    have not ended.
virtual-over = Your virtual participation is over. This is the final ranking, with your result.
virtual-place = With this result you would be in place { $place }.
virtual-refresh = Refresh the ranking
ranking-virtual = virtual
