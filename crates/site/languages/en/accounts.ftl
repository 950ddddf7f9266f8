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
password-present = Current password
password-next = New password (at least 8 characters)
password-sessions-end =
    This ends all other sessions, and earlier links for a new password become invalid. Tokens of
    programs and links to other services end, too, unless you keep them.
password-keep-tokens = Keep the tokens of programs: { $names }
password-keep-identities = Keep the links to other services: { $names }

# The link for a new password.
reset-title = Choose a new password
reset-page = New password
reset-for-login = For the login { $login }.
reset-set = Set the password
reset-sessions-end =
    This ends all sessions of this login. Tokens of programs and links to other services end, too,
    unless you keep them.
person-name = Name

# The account of the signed-in user.
account-title = Your account
account-login = Login: { $login }
account-email = E-mail address (optional)
account-totp = One-time passwords
account-tokens = Tokens for programs
account-sessions = Sessions
account-time-zone-hint = All pages show times, and read the times that you enter, in this zone.
session-begun = Started
session-ends = Ends
session-address = Address
session-browser = Browser
session-this = This session
sessions-end = End all other sessions

# One-time passwords.
totp-code = Code from your authenticator app, or a recovery code
totp-is-on =
    Signing in requires a code from your authenticator app. { $left ->
        [one] { $left } recovery code is left.
       *[other] { $left } recovery codes are left.
    }
totp-off = Turn off one-time passwords
totp-lead =
    With one-time passwords, signing in requires your password and a code from an authenticator app
    on your phone.
totp-set-up = Set up
totp-read = Scan this picture with the app, or enter the secret there:
totp-qr = The secret as a QR code
totp-shown-code = The code that the app shows
totp-confirm = Confirm
totp-now-on = One-time passwords are on
totp-keep =
    Keep these recovery codes in a safe place. Each one can replace a code from the app once.
totp-go-to-account = Go to your account

# Tokens of programs.
tokens-lead =
    With a token, a program acts on your behalf: { $command } and the { $interface } need one.
tokens-interface = interface for programs
tokens-new = The new token is shown only now:
token-scope = Scope
token-made = Created
token-expires = Expires
token-last-used = Last used
tokens-none = You have no tokens.
tokens-make = Create a token
tokens-make-button = Create the token
token-days = Days until it expires
scope-submit = Read and submit
scope-read = Read only
scope-manage = Everything that you may do

# The interface for programs.
api-title = Interface for programs
api-lead =
    A program that sends a { $token } as { $header } sees what the owner of the token sees.
    { $document } describes all objects.
api-token = token
api-operation = Operation
api-purpose = Purpose
api-command = A submission from the command line:
