# The language itself.
language-name = English
# The mark before the fraction of a number, and that between groups of digits.
number-decimal = .
number-group = ,

# The frame of all pages, and the navigation.
frame-skip = Skip to the content
frame-footer = millibox { $version }. All times are in UTC.
frame-language = Language
nav-pages = Pages
nav-breadcrumb = Breadcrumb
nav-server-time = Time of the server
nav-contests = Contests
nav-problems = Problems
nav-submissions = Submissions
nav-jobs = Jobs
nav-users = Users
nav-queue = Queue
nav-faults = Faults
nav-rejudgings = Rejudgings
