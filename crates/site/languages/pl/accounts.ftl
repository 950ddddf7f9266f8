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
password-sessions-end =
    Wszystkie inne sesje zostaną zakończone, a wcześniejsze linki do ustawienia hasła stracą ważność.
    Tokeny dla programów i połączenia z innymi serwisami też zostaną usunięte, chyba że je
    zachowasz.
password-keep-tokens = Zachowaj tokeny dla programów: { $names }
password-keep-identities = Zachowaj połączenia z innymi serwisami: { $names }

# The link for a new password.
reset-title = Ustaw nowe hasło
reset-page = Nowe hasło
reset-for-login = Dla loginu { $login }.
reset-set = Zapisz hasło
reset-sessions-end =
    Wszystkie sesje tego użytkownika zostaną zakończone. Tokeny dla programów i połączenia z innymi
    serwisami też zostaną usunięte, chyba że je zachowasz.
person-name = Imię i nazwisko

# The account of the signed-in user.
account-title = Twoje konto
account-login = Login: { $login }
account-email = Adres e-mail (opcjonalnie)
account-totp = Hasła jednorazowe
account-tokens = Tokeny dla programów
account-sessions = Sesje
account-time-zone-hint =
    Wszystkie strony pokazują czasy w tej strefie i w niej odczytują czasy, które podajesz.
session-begun = Rozpoczęta
session-ends = Kończy się
session-address = Adres
session-browser = Przeglądarka
session-this = Ta sesja
sessions-end = Zakończ wszystkie inne sesje

# One-time passwords.
totp-code = Kod z aplikacji uwierzytelniającej albo kod odzyskiwania
totp-is-on =
    Logowanie wymaga kodu z aplikacji uwierzytelniającej. { $left ->
        [one] Pozostał { $left } kod odzyskiwania.
        [few] Pozostały { $left } kody odzyskiwania.
       *[other] Pozostało { $left } kodów odzyskiwania.
    }
totp-off = Wyłącz hasła jednorazowe
totp-lead =
    Z hasłami jednorazowymi logowanie wymaga hasła i kodu z aplikacji uwierzytelniającej w
    telefonie.
totp-set-up = Skonfiguruj
totp-read = Zeskanuj ten obraz aplikacją albo wpisz w niej tajny klucz:
totp-qr = Tajny klucz jako kod QR
totp-shown-code = Kod, który pokazuje aplikacja
totp-confirm = Potwierdź
totp-now-on = Hasła jednorazowe są włączone
totp-keep =
    Zachowaj te kody odzyskiwania w bezpiecznym miejscu. Każdy z nich może raz zastąpić kod z
    aplikacji.
totp-go-to-account = Przejdź do konta

# Tokens of programs.
tokens-lead = Z tokenem program działa w Twoim imieniu: potrzebują go { $command } i { $interface }.
tokens-interface = interfejs dla programów
tokens-new = Nowy token jest pokazywany tylko teraz:
token-scope = Zakres
token-made = Utworzono
token-expires = Wygasa
token-last-used = Ostatnio użyto
tokens-none = Nie masz żadnych tokenów.
tokens-make = Utwórz token
tokens-make-button = Utwórz token
token-days = Ważność w dniach
scope-submit = Odczyt i wysyłanie
scope-read = Tylko odczyt
scope-manage = Wszystko, do czego masz uprawnienia

# The interface for programs.
api-title = Interfejs dla programów
api-lead =
    Programy wysyłają { $token } jako { $header } i widzą to, co jego użytkownik. { $document }
    opisuje wszystkie obiekty.
api-token = token
api-operation = Operacja
api-purpose = Przeznaczenie
api-command = Zgłoszenie z wiersza poleceń:
