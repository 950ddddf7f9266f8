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
password-sessions-end =
    Alle anderen Sitzungen werden beendet, und frühere Links für ein neues Passwort werden ungültig.
    Auch Token für Programme und Verknüpfungen mit anderen Diensten enden, wenn Sie sie nicht
    behalten.
password-keep-tokens = Token für Programme behalten: { $names }
password-keep-identities = Verknüpfungen mit anderen Diensten behalten: { $names }

# The link for a new password.
reset-title = Neues Passwort wählen
reset-page = Neues Passwort
reset-for-login = Für den Benutzernamen { $login }.
reset-set = Passwort festlegen
reset-sessions-end =
    Alle Sitzungen dieses Benutzers werden beendet. Auch Token für Programme und Verknüpfungen mit
    anderen Diensten enden, wenn Sie sie nicht behalten.
person-name = Name

# The account of the signed-in user.
account-title = Ihr Konto
account-login = Benutzername: { $login }
account-email = E-Mail-Adresse (optional)
account-totp = Einmalpasswörter
account-tokens = Token für Programme
account-sessions = Sitzungen
account-time-zone-hint =
    Alle Seiten zeigen Zeiten in dieser Zone und lesen die Zeiten, die Sie eingeben, in dieser Zone.
session-begun = Begonnen
session-ends = Endet
session-address = Adresse
session-browser = Browser
session-this = Diese Sitzung
sessions-end = Alle anderen Sitzungen beenden

# One-time passwords.
totp-code = Code aus Ihrer Authenticator-App oder ein Wiederherstellungscode
totp-is-on =
    Zum Anmelden brauchen Sie einen Code aus Ihrer Authenticator-App. { $left ->
        [one] Es ist noch { $left } Wiederherstellungscode übrig.
       *[other] Es sind noch { $left } Wiederherstellungscodes übrig.
    }
totp-off = Einmalpasswörter ausschalten
totp-lead =
    Mit Einmalpasswörtern brauchen Sie zum Anmelden Ihr Passwort und einen Code aus einer
    Authenticator-App auf Ihrem Telefon.
totp-set-up = Einrichten
totp-read = Scannen Sie dieses Bild mit der App, oder geben Sie dort den geheimen Schlüssel ein:
totp-qr = Der geheime Schlüssel als QR-Code
totp-shown-code = Der Code, den die App anzeigt
totp-confirm = Bestätigen
totp-now-on = Einmalpasswörter sind eingeschaltet
totp-keep =
    Bewahren Sie diese Wiederherstellungscodes sicher auf. Jeder kann einmal einen Code der App
    ersetzen.
totp-go-to-account = Zu Ihrem Konto

# Tokens of programs.
tokens-lead =
    Mit einem Token handelt ein Programm in Ihrem Namen: { $command } und die { $interface }
    brauchen eines.
tokens-interface = Schnittstelle für Programme
tokens-new = Das neue Token wird nur jetzt angezeigt:
token-scope = Berechtigung
token-made = Erstellt
token-expires = Läuft ab
token-last-used = Zuletzt verwendet
tokens-none = Sie haben keine Token.
tokens-make = Token erstellen
tokens-make-button = Token erstellen
token-days = Gültigkeit in Tagen
scope-submit = Lesen und einsenden
scope-read = Nur lesen
scope-manage = Alles, was Sie dürfen

# The interface for programs.
api-title = Schnittstelle für Programme
api-lead =
    Programme senden ein { $token } als { $header } und sehen, was dessen Benutzer sieht. {
    $document } beschreibt alle Objekte.
api-token = Token
api-operation = Operation
api-purpose = Zweck
api-command = Eine Einsendung auf der Kommandozeile:
