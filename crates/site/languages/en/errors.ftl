# Pages about requests that were not carried out.
error-malformed =
    The request is malformed. Check the address, or load the page again and send the form once
    more.
error-too-long =
    The request is larger than the site accepts. The packages of a form may have { $mib } MiB together.
error-foreign =
    A page of a different site has sent this form. Open the page on this site, and send the form
    there.
error-missing = Something that this form names does not exist, or you have no access to it.
form-file-again = Choose the file again.
form-files-again = Choose the files again.
unsent-title = Sign in to send this
unsent-detail =
    You are not signed in, so nothing was sent. Sign in in a new tab, return to this page, and send
    the form again.
unsent-sign-in = Sign in in a new tab
unsent-typed = What you typed
unsent-send = Send
error-home = Go to the home page
error-not-found-title = Page not found
error-not-found-detail = There is no such page, or you have no access to it.
error-refused-title = Not allowed
error-invalid-title = Not accepted
error-too-often-title = Too many attempts
error-too-often-detail =
    You have tried too often. Try again in { $seconds ->
        [one] { $seconds } second
       *[other] { $seconds } seconds
    }.
error-too-slow-title = The request took too long
error-too-slow-detail =
    The request arrived too slowly and was not carried out. Try again on a faster connection.
error-too-many-streams-title = Too many open pages
error-too-many-streams-detail =
    Too many pages that update themselves are open for this user or at this address. Close some of
    them, and load this page again.
error-conflict-title = Changed at the same time
error-conflict-detail =
    Another request has changed the same things at the same time. Load the page again, and repeat
    your change if you still need it.
error-busy-title = The site is busy
error-busy-sign-in = Too many people are signing in right now. Try again in a few seconds.
error-busy-trials = Too many programs are being tried right now. Try again in a few seconds.
error-busy-uploads = Too many large files are being sent right now. Try again in a minute.
error-busy-changes =
    Too many changes are waiting for the database right now. Try again in a few seconds.
error-busy-rendering = Too many long texts are being shown right now. Try again in a few seconds.
error-busy-forms = Too many forms are being sent right now. Go back, and send yours again.
error-too-large-title = The request is too large
error-too-large-detail =
    Without signing in, a request can have at most { $kib } KiB. Sign in, go back, and send it again.
error-internal-title = Internal error
error-internal-detail = The error is in the site's log. Your request was not carried out.

# Why the viewer may not do something now.
refusal-invitation-only = This site adds users by invitation only. Ask its administrator.
refusal-last-admin = The site needs an administrator.
refusal-disk-full =
    Your packages and files take the { $gib } GiB that one user may have. Delete problems or files
    that you no longer need, or ask an administrator.
refusal-too-many-large-packages =
    You can add { $left ->
        [one] { $left } more large package now
       *[other] { $left } more large packages now
    }, because too many of your jobs would wait. Send the form again with fewer packages.
refusal-too-many-jobs =
    You have { $max } waiting jobs. Wait until some of them have ended, or stop them on the page
    Jobs.
refusal-own-account = Ask another administrator to do this.
refusal-totp-on = One-time passwords are already on.
refusal-totp-missing = Set up one-time passwords first.
refusal-publish-contest = Only an administrator can make a contest public.
refusal-publish-problem = Only an administrator can make a problem public.
refusal-problem-in-use = A contest uses this problem. Remove it from its rounds first.
refusal-package-submission = This submission belongs to a package.
refusal-job-ended = The job has ended.
refusal-job-not-stopped = The job was not stopped.
refusal-owners-only = Only an owner can appoint or remove owners.
refusal-last-owner = A contest needs an owner.
refusal-participant-has-submissions = This participant has submissions.
refusal-too-many-tokens = Delete a token first; you have { $max }.
refusal-disqualified = You have been disqualified in this contest.
refusal-disqualified-for = You have been disqualified in this contest: { $reason }
refusal-round-over = This round is over.
refusal-round-not-open = This round is not open.
refusal-practice-submission = A submission for practice never counts in a contest.
refusal-freeze-owner = Only an owner can change when the ranking freezes and thaws.
refusal-thaw-owner = Only an owner can thaw the ranking.
refusal-in-queue = This submission is already in the queue.
refusal-rejudging-decided = This rejudging has already been applied or dropped.
refusal-rejudging-not-ready =
    This rejudging has already been applied or dropped, or some of its submissions are not judged yet.
refusal-rejudging-open = Apply or drop this rejudging first.

# Errors in the fields of a form.
mistake-login = A login must consist of 1 to { $max } letters, digits, dots, hyphens and underscores.
mistake-name = A name must have 1 to { $max } characters.
mistake-email = An e-mail address must have a name, an @ and a host, and no spaces.
mistake-password-length =
    A password must have at least { $min } characters, and at most { $max } bytes.
mistake-form = The form cannot be read: { $detail }
mistake-package = The package has errors:
mistake-packages =
    No package was added, because { $failed ->
        [one] { $failed } of { $total } packages has errors
       *[other] { $failed } of { $total } packages have errors
    }. These files had no errors: { $fine }. Choose them again, together with the corrected ones.
    Errors:
mistake-packages-all = No package was added, because all { $total } packages have errors:
mistake-import = The package cannot be imported: { $detail }.
mistake-wrong-password = The password is wrong.
mistake-wrong-present-password = The current password is wrong.
mistake-wrong-sign-in = Login or password is wrong.
mistake-wrong-code = The code is wrong, or has already been used.
mistake-login-taken = This login is taken.
mistake-unknown-user = There is no user with this login.
mistake-unknown-login = There is no user "{ $login }".
mistake-unknown-visibility = The visibility is unknown.
mistake-unknown-role = The role is unknown.
mistake-submission-target = Name either round_problem or problem. practice requires round_problem.
mistake-label-taken =
    Another problem of this round has the label { $label }. Case and spaces do not count.
mistake-time = "{ $text }" is not a time.
mistake-time-skipped =
    In the time zone { $zone }, the time { $text } does not exist, because the clocks are put forward
    then. Enter an earlier or a later time.
mistake-time-changed =
    Someone else has changed this time since you opened the form. It is now: { $time }. Save the form
    again to replace it with yours.
mistake-too-many-members =
    The chosen classes have more than { $max } members. Choose fewer classes, and add
    the others on the page Members.
mistake-unknown-zone = There is no time zone "{ $name }". Use a name such as Europe/Berlin.
mistake-number = "{ $text }" is not a number.
mistake-round-order = A round must end after it begins.
mistake-personal-time = A personal time must be a number of minutes.
mistake-penalty = The penalty must be a number of minutes.
mistake-icpc-needs-begin = A round in ICPC mode needs a start time.
mistake-personal-time-needs-end = A round with a personal time needs an end.
mistake-thaw-order = The ranking must thaw after it freezes.
mistake-colour = A colour must be written as # and six hexadecimal digits.
mistake-minutes = Delay, extra time and penalty must be numbers of minutes.
mistake-not-a-member = The user is not a member of the contest.
mistake-statement-name = A statement must have a plain name that ends in .md, .pdf or .tex.
mistake-too-many-tags = A problem can have at most { $max } tags.
mistake-same-problem = Choose another problem.
mistake-same-user = Choose another user.
mistake-confirm-login = Type the login { $login } to confirm.
mistake-token-days = A token can last 1 to { $max } days.
mistake-two-files = Upload only one file.
mistake-too-many-packages = Upload at most { $max } packages at a time.
mistake-long-field = A field is too long.
mistake-field-not-utf8 = A field is not in UTF-8.
mistake-zero-byte =
    A text contains the character U+0000, which cannot be stored. Remove it.
mistake-zero-byte-in =
    The field “{ $field }” contains the character U+0000, which cannot be stored. Remove it.
mistake-no-submission-fits = No submission matches the filter.
mistake-no-language = Choose a language, or upload a file with its extension.
mistake-language-missing = This language is not installed.
mistake-no-source = Upload a file, or enter the source.
mistake-large-source = A source can have at most { $kib } KiB.
mistake-large-input = An input can have at most { $kib } KiB.
mistake-more-minutes = Enter a number of minutes from 1 to { $max }.
mistake-hand-in-time =
    The time must lie within the participant's round: between { $from } and { $until }.
refusal-round-not-running = The round is not running, or it has no end.
refusal-end-changed =
    The end of the round has changed since the page was shown. Look at the new end before you add
    more time.
refusal-team-without-members = The team has no members. Add the author of the file first.
mistake-number-range = Enter a number from 1 to { $max }, not "{ $text }".
mistake-language-not-allowed = This language is not allowed here. Choose one from the list.
refusal-no-submissions-left = You have made all { $max } submissions that are allowed for this problem.
mistake-no-such-problem = Choose a problem from the list.
