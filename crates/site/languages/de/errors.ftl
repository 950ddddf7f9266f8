# Pages about requests that were not carried out.
error-malformed =
    Die Anfrage ist fehlerhaft. Prüfen Sie die Adresse, oder laden Sie die Seite neu, und senden
    Sie das Formular noch einmal.
error-too-long =
    Die Anfrage ist größer, als die Website erlaubt. Die Pakete eines Formulars dürfen zusammen { $mib } MiB haben.
error-foreign =
    Eine Seite einer anderen Website hat dieses Formular gesendet. Öffnen Sie die Seite auf
    dieser Website, und senden Sie das Formular dort.
error-missing =
    Etwas, das dieses Formular nennt, gibt es nicht, oder Sie haben keinen Zugriff darauf.
form-file-again = Wählen Sie die Datei noch einmal.
form-files-again = Wählen Sie die Dateien noch einmal.
unsent-title = Melden Sie sich an, um das zu senden
unsent-detail =
    Sie sind nicht angemeldet, deshalb wurde nichts gesendet. Melden Sie sich in einem neuen Tab an,
    kehren Sie zu dieser Seite zurück, und senden Sie das Formular noch einmal.
unsent-sign-in = In einem neuen Tab anmelden
unsent-typed = Eingegebener Text
unsent-send = Senden
error-home = Zur Startseite
error-not-found-title = Seite nicht gefunden
error-not-found-detail = Diese Seite gibt es nicht, oder Sie haben keinen Zugriff darauf.
error-refused-title = Nicht erlaubt
error-invalid-title = Nicht angenommen
error-too-often-title = Zu viele Versuche
error-too-often-detail =
    Sie haben es zu oft versucht. Versuchen Sie es in { $seconds ->
        [one] { $seconds } Sekunde
       *[other] { $seconds } Sekunden
    } erneut.
error-too-slow-title = Die Anfrage hat zu lange gedauert
error-too-slow-detail =
    Die Anfrage kam zu langsam an und wurde nicht ausgeführt. Versuchen Sie es mit einer schnelleren
    Verbindung erneut.
error-too-many-streams-title = Zu viele offene Seiten
error-too-many-streams-detail =
    Für diesen Benutzer oder unter dieser Adresse sind zu viele Seiten offen, die sich selbst
    aktualisieren. Schließen Sie einige davon, und laden Sie diese Seite neu.
error-conflict-title = Gleichzeitig geändert
error-conflict-detail =
    Eine andere Anfrage hat zur selben Zeit dasselbe geändert. Laden Sie die Seite neu, und
    wiederholen Sie Ihre Änderung, falls sie noch nötig ist.
error-busy-title = Die Website ist überlastet
error-busy-sign-in =
    Im Moment melden sich zu viele Personen an. Versuchen Sie es in einigen Sekunden erneut.
error-busy-trials =
    Im Moment werden zu viele Programme ausprobiert. Versuchen Sie es in einigen Sekunden erneut.
error-busy-uploads =
    Im Moment werden zu viele große Dateien gesendet. Versuchen Sie es in einer Minute erneut.
error-busy-changes =
    Im Moment warten zu viele Änderungen auf die Datenbank. Versuchen Sie es in einigen Sekunden
    erneut.
error-busy-rendering =
    Im Moment werden zu viele lange Texte angezeigt. Versuchen Sie es in einigen Sekunden erneut.
error-busy-forms =
    Im Moment werden zu viele Formulare gesendet. Gehen Sie zurück, und senden Sie Ihres erneut.
error-too-large-title = Die Anfrage ist zu groß
error-too-large-detail =
    Ohne Anmeldung darf eine Anfrage höchstens { $kib } KiB haben. Melden Sie sich an, gehen Sie
    zurück, und senden Sie sie erneut.
error-internal-title = Fehler auf dem Server
error-internal-detail =
    Der Fehler steht im Protokoll des Servers. Ihre Anfrage wurde nicht ausgeführt.

# Why the viewer may not do something now.
refusal-invitation-only =
    Auf dieser Website kann man sich nur mit einer Einladung registrieren. Wenden Sie sich an den
    Administrator.
refusal-last-admin = Die Website braucht einen Administrator.
refusal-disk-full =
    Ihre Pakete und Dateien belegen die { $gib } GiB, die ein Benutzer haben darf. Löschen Sie
    Aufgaben oder Dateien, die Sie nicht mehr brauchen, oder wenden Sie sich an einen Administrator.
refusal-too-many-large-packages =
    Sie können jetzt nur noch { $left ->
        [one] { $left } großes Aufgabenpaket
       *[other] { $left } große Aufgabenpakete
    } hinzufügen, weil sonst zu viele Ihrer Aufträge warten. Senden Sie das Formular mit weniger
    Aufgabenpaketen.
refusal-too-many-jobs =
    Sie haben { $max } wartende Aufträge. Warten Sie, bis einige beendet sind, oder halten Sie sie
    auf der Seite Aufträge an.
refusal-own-account = Bitten Sie einen anderen Administrator, dies zu tun.
refusal-totp-on = Einmalpasswörter sind bereits eingeschaltet.
refusal-totp-missing = Richten Sie zuerst Einmalpasswörter ein.
refusal-publish-contest = Nur ein Administrator kann einen Wettbewerb öffentlich machen.
refusal-publish-problem = Nur ein Administrator kann eine Aufgabe öffentlich machen.
refusal-problem-in-use =
    Ein Wettbewerb verwendet diese Aufgabe. Entfernen Sie sie zuerst aus dessen Runden.
refusal-package-submission = Diese Einsendung gehört zu einem Aufgabenpaket.
refusal-job-ended = Der Auftrag ist beendet.
refusal-job-not-stopped = Der Auftrag wurde nicht angehalten.
refusal-owners-only = Nur ein Eigentümer kann Eigentümer ernennen oder entfernen.
refusal-last-owner = Ein Wettbewerb braucht einen Eigentümer.
refusal-participant-has-submissions = Von diesem Teilnehmer gibt es Einsendungen.
refusal-too-many-tokens = Löschen Sie zuerst ein Token; Sie haben { $max }.
refusal-disqualified = Sie wurden in diesem Wettbewerb disqualifiziert.
refusal-disqualified-for = Sie wurden in diesem Wettbewerb disqualifiziert: { $reason }
refusal-round-over = Diese Runde ist vorbei.
refusal-round-not-open = Diese Runde läuft nicht.
refusal-practice-submission = Eine Einsendung zum Üben zählt nie in einem Wettbewerb.
refusal-freeze-owner =
    Nur ein Eigentümer kann ändern, wann die Rangliste eingefroren und wieder freigegeben wird.
refusal-thaw-owner = Nur ein Eigentümer kann die Rangliste freigeben.
refusal-in-queue = Diese Einsendung steht bereits in der Warteschlange.
refusal-rejudging-decided = Diese Neubewertung wurde bereits übernommen oder verworfen.
refusal-rejudging-not-ready =
    Diese Neubewertung wurde bereits übernommen oder verworfen, oder einige ihrer Einsendungen sind
    noch nicht bewertet.
refusal-rejudging-open = Übernehmen oder verwerfen Sie diese Neubewertung zuerst.

# Errors in the fields of a form.
mistake-login =
    Ein Benutzername muss aus 1 bis { $max } Buchstaben, Ziffern, Punkten, Binde- und Unterstrichen
    bestehen.
mistake-name = Ein Name muss 1 bis { $max } Zeichen haben.
mistake-email =
    Eine E-Mail-Adresse muss einen Namen, ein @ und einen Rechnernamen haben, aber keine
    Leerzeichen.
mistake-password-length =
    Ein Passwort muss mindestens { $min } Zeichen und darf höchstens { $max } Bytes haben.
mistake-form = Das Formular ist nicht lesbar: { $detail }
mistake-package = Das Aufgabenpaket enthält Fehler:
mistake-packages =
    Es wurde kein Aufgabenpaket hinzugefügt, weil { $failed ->
        [one] { $failed } von { $total } Aufgabenpaketen Fehler enthält
       *[other] { $failed } von { $total } Aufgabenpaketen Fehler enthalten
    }. Diese Dateien hatten keine Fehler: { $fine }. Wählen Sie sie erneut aus, zusammen mit den
    korrigierten. Fehler:
mistake-packages-all =
    Es wurde kein Aufgabenpaket hinzugefügt, weil alle { $total } Aufgabenpakete Fehler enthalten:
mistake-import = Das Paket kann nicht importiert werden: { $detail }.
mistake-wrong-password = Das Passwort ist falsch.
mistake-wrong-present-password = Das bisherige Passwort ist falsch.
mistake-wrong-sign-in = Benutzername oder Passwort ist falsch.
mistake-wrong-code = Der Code ist falsch oder wurde schon verwendet.
mistake-login-taken = Dieser Benutzername ist vergeben.
mistake-unknown-user = Es gibt keinen Benutzer mit diesem Benutzernamen.
mistake-unknown-login = Es gibt keinen Benutzer „{ $login }“.
mistake-unknown-visibility = Diese Sichtbarkeit ist unbekannt.
mistake-unknown-role = Diese Rolle ist unbekannt.
mistake-submission-target = Geben Sie entweder round_problem oder problem an. practice setzt round_problem voraus.
mistake-label-taken =
    Eine andere Aufgabe dieser Runde hat das Kürzel { $label }. Groß- und Kleinschreibung und
    Leerzeichen zählen nicht.
mistake-time = „{ $text }“ ist keine Zeitangabe.
mistake-time-skipped =
    In der Zeitzone { $zone } gibt es die Zeit { $text } nicht, weil die Uhren dann vorgestellt
    werden. Geben Sie eine frühere oder spätere Zeit an.
mistake-time-changed =
    Jemand anderes hat diese Zeit geändert, seit Sie das Formular geöffnet haben. Sie ist jetzt:
    { $time }. Speichern Sie noch einmal, um sie durch Ihre zu ersetzen.
mistake-too-many-members =
    Die gewählten Klassen haben mehr als { $max } Mitglieder. Wählen Sie weniger Klassen,
    und fügen Sie die anderen auf der Seite Mitglieder hinzu.
mistake-unknown-zone =
    Die Zeitzone „{ $name }“ gibt es nicht. Verwenden Sie einen Namen wie Europe/Berlin.
mistake-number = „{ $text }“ ist keine Zahl.
mistake-round-order = Eine Runde muss nach ihrem Beginn enden.
mistake-personal-time = Die persönliche Zeit muss in Minuten angegeben werden.
mistake-penalty = Die Strafzeit muss in Minuten angegeben werden.
mistake-icpc-needs-begin = Eine Runde im ICPC-Modus braucht einen Beginn.
mistake-personal-time-needs-end = Eine Runde mit persönlicher Zeit braucht ein Ende.
mistake-thaw-order = Die Rangliste kann erst nach dem Einfrieren freigegeben werden.
mistake-colour = Eine Farbe muss aus # und sechs hexadezimalen Ziffern bestehen.
mistake-minutes = Verschiebung, Zusatzzeit und Strafzeit müssen in Minuten angegeben werden.
mistake-not-a-member = Der Benutzer ist kein Mitglied des Wettbewerbs.
mistake-statement-name =
    Eine Aufgabenstellung muss einen einfachen Namen haben, der auf .md, .pdf oder .tex endet.
mistake-too-many-tags = Eine Aufgabe darf höchstens { $max } Schlagwörter haben.
mistake-same-problem = Wählen Sie eine andere Aufgabe.
mistake-same-user = Wählen Sie einen anderen Benutzer.
mistake-confirm-login = Geben Sie zur Bestätigung den Benutzernamen { $login } ein.
mistake-token-days = Ein Token kann 1 bis { $max } Tage gelten.
mistake-two-files = Laden Sie nur eine Datei hoch.
mistake-too-many-packages = Laden Sie höchstens { $max } Pakete auf einmal hoch.
mistake-long-field = Ein Feld ist zu lang.
mistake-field-not-utf8 = Ein Feld ist kein Text in UTF-8.
mistake-zero-byte =
    Ein Text enthält das Zeichen U+0000, das nicht gespeichert werden kann. Entfernen Sie es.
mistake-zero-byte-in =
    Das Feld „{ $field }“ enthält das Zeichen U+0000, das nicht gespeichert werden kann. Entfernen
    Sie es.
mistake-no-submission-fits = Keine Einsendung passt zum Filter.
mistake-no-language =
    Wählen Sie eine Programmiersprache, oder laden Sie eine Datei mit passender Endung hoch.
mistake-language-missing = Diese Programmiersprache ist nicht installiert.
mistake-no-source = Laden Sie eine Datei hoch, oder geben Sie den Quelltext ein.
mistake-large-source = Ein Quelltext darf höchstens { $kib } KiB groß sein.
mistake-large-input = Eine Eingabe darf höchstens { $kib } KiB groß sein.
mistake-more-minutes = Geben Sie eine Anzahl von Minuten von 1 bis { $max } ein.
mistake-hand-in-time =
    Die Zeit muss innerhalb der Runde des Teilnehmers liegen: zwischen { $from } und { $until }.
refusal-round-not-running = Die Runde läuft nicht, oder sie hat kein Ende.
refusal-end-changed =
    Das Ende der Runde hat sich geändert, seit die Seite gezeigt wurde. Sehen Sie sich das neue Ende
    an, bevor Sie die Runde weiter verlängern.
refusal-team-without-members =
    Das Team hat keine Mitglieder. Fügen Sie zuerst den Autor der Datei hinzu.
mistake-number-range = Geben Sie eine Zahl von 1 bis { $max } ein, nicht „{ $text }“.
mistake-language-not-allowed = Diese Sprache ist hier nicht erlaubt. Wählen Sie eine aus der Liste.
refusal-no-submissions-left =
    Sie haben alle { $max } Einsendungen gemacht, die für diese Aufgabe erlaubt sind.
mistake-no-such-problem = Wählen Sie eine Aufgabe aus der Liste.
