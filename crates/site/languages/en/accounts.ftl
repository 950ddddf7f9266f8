# Sign-in, sign-up and the first page.
sign-in = Sign in
sign-up = Sign up
sign-out = Sign out
home = Home
home-title = Contests and problems
home-lead = Solve problems, and see at once which tests your program passes.
login = Login
password = Password
password-new = Password (at least 8 characters)
sign-in-keep = Stay signed in for 30 days
setup-title = Create the first administrator

# Changing the password.
password-title = Password
password-change = Change the password
password-present = Present password
password-next = New password (at least 8 characters)
password-sessions-end = All other sessions end.

# The link for a new password.
reset-title = Choose a new password
reset-page = New password
reset-for-login = For the login { $login }.
reset-set = Set the password
reset-sessions-end = All sessions of this login end.
person-name = Name
