# Sign-in, sign-up and the first page.
sign-in = Zaloguj się
sign-up = Zarejestruj się
sign-out = Wyloguj się
home = Strona główna
home-title = Konkursy i zadania
home-lead = Rozwiązuj zadania i od razu sprawdzaj, które testy przechodzi Twój program.
login = Login
password = Hasło
password-new = Hasło (co najmniej 8 znaków)
sign-in-keep = Nie wylogowuj mnie przez 30 dni
setup-title = Utwórz pierwszego administratora

# Changing the password.
password-title = Hasło
password-change = Zmień hasło
password-present = Obecne hasło
password-next = Nowe hasło (co najmniej 8 znaków)
password-sessions-end = Wszystkie inne sesje zostaną zakończone.

# The link for a new password.
reset-title = Ustaw nowe hasło
reset-page = Nowe hasło
reset-for-login = Dla loginu { $login }.
reset-set = Zapisz hasło
reset-sessions-end = Wszystkie sesje tego użytkownika zostaną zakończone.
person-name = Imię i nazwisko
