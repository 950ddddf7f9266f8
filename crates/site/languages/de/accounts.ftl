# Sign-in, sign-up and the first page.
sign-in = Anmelden
sign-up = Registrieren
sign-out = Abmelden
home = Startseite
home-title = Wettbewerbe und Aufgaben
home-lead = Lösen Sie Aufgaben, und sehen Sie sofort, welche Tests Ihr Programm besteht.
login = Benutzername
password = Passwort
password-new = Passwort (mindestens 8 Zeichen)
sign-in-keep = 30 Tage lang angemeldet bleiben
setup-title = Den ersten Administrator anlegen

# Changing the password.
password-title = Passwort
password-change = Passwort ändern
password-present = Bisheriges Passwort
password-next = Neues Passwort (mindestens 8 Zeichen)
password-sessions-end = Alle anderen Sitzungen werden beendet.

# The link for a new password.
reset-title = Neues Passwort wählen
reset-page = Neues Passwort
reset-for-login = Für den Benutzernamen { $login }.
reset-set = Passwort festlegen
reset-sessions-end = Alle Sitzungen dieses Benutzers werden beendet.
person-name = Name
