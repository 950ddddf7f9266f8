# Sign-in at another service.
services = Anmeldung mit anderen Diensten
service-sign-in = Mit { $name } anmelden
service-link = Mit { $name } verknüpfen
service-link-hint = Melden Sie sich bei { $name } an. Danach können Sie sich auch hier mit { $name } anmelden.
service-continue = Weiter zu { $name }
service-back = Zurück zu Ihrem Konto
service-linked = Verknüpft mit { $name } seit
service-unlink = Verknüpfungen entfernen
service-unlink-hint = Ohne Verknüpfung brauchen Sie Ihr Passwort. Ein Administrator kann einen Link erzeugen, mit dem Sie eines wählen.
refusal-service-flow = Diese Anmeldung ist beendet oder wurde in einem anderen Browser begonnen. Melden Sie sich erneut an.
refusal-service-refused = Der andere Dienst hat die Anmeldung abgelehnt.
refusal-service-failed = Der andere Dienst hat die Anmeldung nicht bestätigt. Versuchen Sie es später erneut.
refusal-service-not-linked = Kein Benutzer dieser Seite ist mit Ihnen verknüpft. Melden Sie sich mit Ihrem Passwort an und verknüpfen Sie den anderen Dienst auf der Seite Ihres Kontos.
refusal-service-taken = Ein anderer Benutzer dieser Seite ist bereits mit Ihnen verknüpft.
refusal-account-disabled = Ihr Konto ist gesperrt.
