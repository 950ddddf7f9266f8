# Sign-in with another service.
services = Anmeldung mit anderen Diensten
service-sign-in = Mit { $name } anmelden
service-link = Mit { $name } verknüpfen
service-link-hint =
    Melden Sie sich bei { $name } an. Danach können Sie sich auch hier mit { $name } anmelden.
service-continue = Weiter zu { $name }
service-back = Zurück zu Ihrem Konto
service-linked = Verknüpft mit { $name } seit
service-unlink = Verknüpfungen entfernen
service-unlink-hint =
    Ohne verknüpftes Konto brauchen Sie Ihr Passwort. Ein Administrator kann einen Link erstellen,
    über den Sie ein neues wählen.
service-none = Es ist kein anderer Dienst eingerichtet.
service-issuer = Aussteller
service-client = Client-ID
service-callback = Adresse, die der Dienst erlauben muss
service-new-persons = Neue Personen
service-adds-users = werden bei der ersten Anmeldung als Benutzer angelegt
service-adds-none = müssen einen vorhandenen Benutzer verknüpfen
refusal-service-flow = Diese Anmeldung ist beendet oder wurde in einem anderen Browser begonnen. Melden Sie sich erneut an.
refusal-service-refused = Der andere Dienst hat die Anmeldung abgelehnt.
refusal-service-failed = Der andere Dienst hat die Anmeldung nicht bestätigt. Versuchen Sie es später erneut.
refusal-service-not-linked =
    Ihr Konto beim anderen Dienst ist mit keinem Benutzer dieser Website verknüpft. Melden Sie sich
    mit Ihrem Passwort an, und verknüpfen Sie den anderen Dienst auf der Seite Ihres Kontos.
refusal-service-taken =
    Ihr Konto beim anderen Dienst ist bereits mit einem anderen Benutzer dieser Website verknüpft.
refusal-account-disabled = Ihr Konto ist gesperrt.
