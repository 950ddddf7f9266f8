# Import of users and teams.
roster-list = Oder die Liste selbst
roster-file-teams = Teams (teams.tsv, teams.json)
roster-file-groups = Gruppen (groups.tsv, groups.json)
roster-file-organizations = Organisationen (organizations.json)
roster-file-accounts = Benutzer (accounts.tsv, accounts.json, CSV)
roster-teams-title = Teams importieren
roster-teams-hint =
    Die Dateien von DOMjudge und der Contest API. Zu Teams gehören die Gruppen und Organisationen,
    auf die sie verweisen. Konten werden Benutzer der Website und Mitglieder ihrer Teams. Spätere
    Importe erkennen ein Team an seiner ID.
roster-preview = Vorschau
roster-hint =
    CSV oder TSV mit den Namen der Spalten in der ersten Zeile, JSON mit einem Array von Objekten
    oder die Dateien von DOMjudge: höchstens { $lines } Zeilen je Datei und zusammen { $kib } KiB.
    Von einem Benutzer ist nur der Benutzername (login) nötig. Vorhandene Benutzer werden geändert;
    neue Benutzer ohne Passwort erhalten einen Link, über den sie eines wählen. Es ändert sich
    nichts, bis Sie die Vorschau übernehmen.
roster-counts =
    Zeilen, die etwas hinzufügen: { $added }, etwas ändern: { $changed }, nichts ändern: { $kept }
    oder abgelehnt werden: { $refused }.
roster-unused =
    { $file }: Diese Spalten werden nicht verwendet: { $names }. Ein Import liest die Spalten
    { $read } und ihre üblichen Namen in anderen Sprachen.
roster-number = Zeile
roster-id = ID
roster-teams = Teams
roster-email = E-Mail
roster-effect = Wirkung
roster-add = Hinzufügen
roster-change = Ändern
roster-keep = Keine Änderung
roster-refuse = Abgelehnt
roster-joins = tritt Team { $team } bei
roster-password-listed = aus der Liste
roster-password-link = wählt der Benutzer, oder es wird erzeugt
roster-correct =
    Solange eine Zeile abgelehnt wird, kann nichts übernommen werden. Korrigieren Sie zuerst die
    Dateien.
roster-other-files = Andere Dateien wählen
roster-issue = Neue Benutzer ohne Passwort erhalten
roster-issue-links =
    einen Link, über den sie eines wählen; er funktioniert einmal und innerhalb von { $days } Tagen
roster-issue-passwords =
    ein lesbares Passwort mit { $bits } Bit, für höchstens { $max } Benutzer
roster-apply = Übernehmen und Ergebnis anzeigen
roster-apply-csv = Übernehmen und Links oder Passwörter als CSV herunterladen
roster-apply-hint =
    Links und Passwörter werden nur einmal angezeigt: auf Zetteln zum Drucken und Ausschneiden oder
    als CSV. Ein solches Passwort genügt, weil die Website fehlgeschlagene Anmeldungen begrenzt.
roster-done = Die Listen wurden übernommen
roster-link = Link
roster-made-none = Kein Benutzer braucht einen Link.
roster-made =
    Unter diesen Adressen wählen die neuen Benutzer ihre Passwörter. Sie werden nur jetzt angezeigt.
    Drucken Sie die Seite, oder kopieren Sie die Adressen.
roster-made-passwords =
    Mit diesen Passwörtern können sich die neuen Benutzer anmelden. Sie werden nur jetzt angezeigt.
    Drucken Sie die Seite, und geben Sie jedem seinen Zettel.
roster-site = Website
roster-go-to-users = Zu den Benutzern
refusal-roster-changed =
    Seit der Vorschau haben sich Benutzer oder Teams geändert, oder die Vorschau gehörte zu anderen
    Listen. Es wurde nichts übernommen; sehen Sie sich eine neue Vorschau an.

# Errors in lists.
roster-in-file = { $file }: { $detail }
roster-format =
    Zeile { $line } nennt keine Spalte, die Benutzer, Teams oder Gruppen bezeichnet. Sie nennt:
    { $found }. Mögliche Namen: { $accepted }. Die Namen der Spalten müssen in der ersten Zeile
    stehen, getrennt durch Kommas, Semikolons oder Tabulatoren.
roster-workbook =
    Die Datei ist eine Arbeitsmappe. Wählen Sie in der Tabellenkalkulation „Speichern unter“ oder
    „Herunterladen“ und das Format CSV (UTF-8).
roster-encoding =
    Zeile { $line } ist kein Text in UTF-8 oder UTF-16. Speichern Sie die Datei als CSV (UTF-8).
roster-version = Die Version „{ $version }“ in der ersten Zeile ist unbekannt.
roster-size = Eine Liste muss 1 bis { $max } Zeilen haben.
roster-bytes = Die Dateien dürfen zusammen höchstens { $kib } KiB groß sein.
roster-passwords = Eine Liste darf höchstens { $max } Passwörter enthalten.
roster-json = JSON: { $detail }
roster-malformed =
    Die Zeile hat mehr oder weniger Felder als die erste oder ist kein Objekt. Setzen Sie ein Feld
    mit einem Trennzeichen oder Anführungszeichen in Anführungszeichen.
roster-role = Die Rolle „{ $role }“ ist unbekannt; möglich sind user, teacher und admin.
roster-twice = { $name } steht schon in der Liste.
roster-id-wrong = Eine ID muss 1 bis 64 Zeichen haben und darf keine Leerzeichen enthalten.
roster-group-missing = Die Gruppe { $id } steht nicht in der Liste der Gruppen.
roster-organization-missing = Die Organisation { $id } steht nicht in der Liste der Organisationen.
roster-team-missing = Das Team { $id } steht weder in der Liste der Teams noch im Wettbewerb.
