# The language itself.
language-name = English
# The decimal separator, and the separator between groups of digits.
number-decimal = .
number-group = ,

# The frame of all pages, and the navigation.
frame-skip = Skip to the content
frame-footer = millibox { $version }. Times are in the time zone { $zone }.
frame-language = Language
nav-pages = Pages
nav-breadcrumb = Breadcrumb
nav-server-time = Server time
nav-contests = Contests
nav-problems = Problems
nav-submissions = Submissions
nav-jobs = Jobs
nav-users = Users
nav-queue = Queue
nav-faults = Faults
nav-rejudgings = Rejudgings
