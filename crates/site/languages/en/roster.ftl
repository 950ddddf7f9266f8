# Import of users and teams.
roster-list = Or the list itself
roster-file-teams = Teams (teams.tsv, teams.json)
roster-file-groups = Groups (groups.tsv, groups.json)
roster-file-organizations = Organizations (organizations.json)
roster-file-accounts = Users (accounts.tsv, accounts.json, CSV)
roster-teams-title = Import teams
roster-teams-hint =
    The files of DOMjudge and of the Contest API. Teams need the groups and organizations to which
    they refer. Accounts become users of the site and members of their teams. Later imports
    recognize a team by its ID.
roster-preview = Preview
roster-hint =
    CSV or TSV with the names of the columns in the first line, JSON with an array of objects, or
    the files of DOMjudge: at most { $lines } lines for each file, and { $kib } KiB together. Only
    the login of a user is required. Existing users are changed; new users without a password
    receive a link for choosing one. Nothing changes until you apply the preview.
roster-counts =
    Lines that add something: { $added }, change something: { $changed }, change nothing: { $kept },
    or are refused: { $refused }.
roster-unused =
    { $file }: these columns are not used: { $names }. An import reads the columns { $read }, and
    common names of them in other languages.
roster-number = Line
roster-id = ID
roster-teams = Teams
roster-email = E-mail
roster-effect = Effect
roster-add = Add
roster-change = Change
roster-keep = No change
roster-refuse = Refused
roster-joins = joins team { $team }
roster-password-listed = from the list
roster-password-link = chosen by the user, or generated
roster-correct = Nothing can be applied while a line is refused. Correct the files first.
roster-other-files = Choose other files
roster-issue = New users without a password receive
roster-issue-links =
    a link for choosing one, which works once and within { $days } days
roster-issue-passwords =
    a readable password with { $bits } bits, for at most { $max } users
roster-apply = Apply, and show the result
roster-apply-csv = Apply, and download links or passwords as CSV
roster-apply-hint =
    Links and passwords are shown only once, on slips to print and to cut, or as CSV. A password of
    this kind suffices because the site bounds failed sign-ins.
roster-done = The lists have been applied
roster-link = Link
roster-made-none = No user needs a link.
roster-made =
    The new users can choose their passwords at these addresses. They are shown only now. Print the
    page, or copy the addresses.
roster-made-passwords =
    The new users can sign in with these passwords. They are shown only now. Print the page, and
    give each user the slip with the user's name.
roster-site = Site
roster-go-to-users = Go to the users
refusal-roster-changed =
    Users or teams have changed since the preview, or the preview was for different lists. Nothing
    was applied. Look at a new preview.

# Errors in lists.
roster-in-file = { $file }: { $detail }
roster-format =
    Line { $line } does not name the column that identifies users, teams or groups. It names:
    { $found }. Accepted names: { $accepted }. The names of the columns must be in the first line,
    separated by commas, semicolons or tabs.
roster-workbook =
    The file is a workbook. In the spreadsheet, choose Save As or Download, and the format CSV
    (UTF-8).
roster-encoding =
    Line { $line } is not text in UTF-8 or UTF-16. Save the file as CSV (UTF-8).
roster-version = The version "{ $version }" in the first line is unknown.
roster-size = A list must have 1 to { $max } lines.
roster-bytes = The files can have at most { $kib } KiB together.
roster-passwords = A list can have at most { $max } passwords.
roster-json = JSON: { $detail }
roster-malformed =
    The line has more or fewer fields than the first one, or is no object. Put a field that contains
    a separator or a quotation mark in quotation marks.
roster-role = The role "{ $role }" is unknown; use user, teacher or admin.
roster-twice = { $name } is already in the list.
roster-id-wrong = An ID must have 1 to 64 characters and no spaces.
roster-group-missing = The group { $id } is not in the list of groups.
roster-organization-missing = The organization { $id } is not in the list of organizations.
roster-team-missing = The team { $id } is neither in the list of teams nor in the contest.
