//! The names of columns, and which of them an import reads.
//!
//! Names are compared without case, accents, spaces and punctuation, and without notes in brackets,
//! so `Imię i nazwisko`, `E-Mail` and `Email Address [Required]` are found.

use std::collections::HashSet;

/// The maximum number of unused columns that are named, and of characters of a name.
const MAX_NAMED: usize = 50;
const MAX_NAME: usize = 64;

/// A column that an import reads.
#[derive(Debug)]
pub struct Column {
    /// Its names in the formats. The first is that in the documentation.
    pub keys: &'static [&'static str],
    /// Whether the import reads all of these columns, or only the first one that a file has.
    pub all: bool,
    /// Names in spreadsheets, which mean the first key.
    pub words: &'static [&'static str],
}

impl Column {
    /// All names that a file may use.
    pub fn names(&self) -> Vec<&'static str> {
        [self.keys, self.words].concat()
    }
}

const fn column(keys: &'static [&'static str], words: &'static [&'static str]) -> Column {
    let all = false;
    Column { keys, all, words }
}

const fn columns(keys: &'static [&'static str], words: &'static [&'static str]) -> Column {
    let all = true;
    Column { keys, all, words }
}

const ID: Column = column(
    &["id"],
    &["nr", "no", "number", "numer", "nummer", "identyfikator"],
);
const HIDDEN: Column = column(&["hidden"], &["ukryty", "ukryta", "versteckt"]);
const NAME: Column = columns(
    &["name"],
    &[
        "imię i nazwisko",
        "nazwisko i imię",
        "imiona i nazwisko",
        "full name",
        "display name",
        "vollständiger name",
        "vor- und nachname",
        "vorname und nachname",
        "vorname nachname",
        "nachname vorname",
        "anzeigename",
        "nazwa",
        "uczeń",
        "student",
        "schüler",
        "participant",
        "uczestnik",
        "teilnehmer",
    ],
);

/// The columns of users. The last one has a meaning only in contests.
pub const ACCOUNTS: &[Column] = &[
    column(
        &["login", "username", "id"],
        &[
            "user",
            "user login",
            "login name",
            "account",
            "account name",
            "nazwa użytkownika",
            "użytkownik",
            "login użytkownika",
            "konto",
            "nazwa konta",
            "benutzer",
            "benutzername",
            "anmeldename",
            "kennung",
            "nutzername",
        ],
    ),
    NAME,
    column(
        &["given_name"],
        &["first name", "forename", "imię", "imiona", "vorname"],
    ),
    column(
        &["family_name"],
        &["last name", "surname", "nazwisko", "nachname"],
    ),
    column(
        &["email"],
        &[
            "mail",
            "email address",
            "adres email",
            "adres mail",
            "poczta",
            "adres poczty",
            "mailadresse",
            "emailadresse",
        ],
    ),
    column(
        &["role", "type"],
        &["rola", "rolle", "uprawnienia", "funkcja", "funktion"],
    ),
    column(
        &["password"],
        &[
            "pass",
            "passwd",
            "hasło",
            "passwort",
            "kennwort",
            "new password",
        ],
    ),
    column(
        &["team_id", "team"],
        &[
            "zespół",
            "drużyna",
            "id zespołu",
            "numer zespołu",
            "mannschaft",
            "teamnummer",
        ],
    ),
];

/// The columns of teams.
pub const TEAMS: &[Column] = &[
    Column {
        keys: ID.keys,
        all: false,
        words: &[
            "nr",
            "no",
            "number",
            "numer",
            "nummer",
            "identyfikator",
            "team id",
            "id zespołu",
            "numer zespołu",
            "teamnummer",
        ],
    },
    columns(
        &["display_name", "name"],
        &[
            "team",
            "team name",
            "zespół",
            "drużyna",
            "nazwa zespołu",
            "nazwa drużyny",
            "nazwa",
            "mannschaft",
            "anzeigename",
        ],
    ),
    column(
        &["group_id", "group_ids"],
        &[
            "group",
            "grupa",
            "id grupy",
            "gruppe",
            "kategoria",
            "kategorie",
        ],
    ),
    column(&["organization_id"], &["id organizacji"]),
    column(
        &["organization"],
        &[
            "organisation",
            "school",
            "szkoła",
            "schule",
            "university",
            "uczelnia",
            "universität",
            "hochschule",
            "organizacja",
            "affiliation",
            "institution",
            "instytucja",
        ],
    ),
    HIDDEN,
];

/// The columns of groups.
pub const GROUPS: &[Column] = &[
    ID,
    columns(
        &["name"],
        &["group", "grupa", "gruppe", "nazwa", "nazwa grupy"],
    ),
    HIDDEN,
];

/// The columns of organizations.
pub const ORGANIZATIONS: &[Column] = &[
    ID,
    columns(
        &["formal_name", "name"],
        &[
            "organization",
            "organisation",
            "organizacja",
            "school",
            "szkoła",
            "schule",
            "nazwa",
        ],
    ),
];

/// A name without case, accents, spaces, punctuation and notes in brackets.
fn folded(name: &str) -> String {
    let plain = |text: &str| -> String { text.to_lowercase().chars().filter_map(letter).collect() };
    let start = name.split(['[', '(']).next().unwrap_or_default();
    match plain(start) {
        empty if empty.is_empty() => plain(name),
        found => found,
    }
}

/// The letter or digit without its accent.
fn letter(symbol: char) -> Option<char> {
    let plain = match symbol {
        'ą' | 'ä' | 'á' | 'à' | 'â' => 'a',
        'ć' | 'č' | 'ç' => 'c',
        'ę' | 'é' | 'è' | 'ê' | 'ě' => 'e',
        'í' | 'î' => 'i',
        'ł' => 'l',
        'ń' | 'ñ' => 'n',
        'ó' | 'ö' | 'ô' => 'o',
        'ś' | 'š' | 'ß' => 's',
        'ü' | 'ú' | 'û' => 'u',
        'ý' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        // Accents that are symbols of their own, as on some systems, are no letters.
        other => other,
    };
    plain.is_alphanumeric().then_some(plain)
}

/// The key of a header.
fn key(columns: &'static [Column], header: &str) -> Option<&'static str> {
    let header = folded(header);
    let is = |name: &&&'static str| !header.is_empty() && folded(name) == header;
    let keys = || columns.iter().flat_map(|column| column.keys);
    let by_word = || {
        let found = columns
            .iter()
            .find(|one| one.words.iter().any(|it| is(&it)));
        found.map(|column| &column.keys[0])
    };
    keys().find(is).or_else(by_word).copied()
}

/// The key of each header, if the import reads its column.
pub fn assign(columns: &'static [Column], headers: &[&str]) -> Vec<Option<&'static str>> {
    let found: Vec<_> = headers.iter().map(|one| key(columns, one)).collect();
    let mut seen = HashSet::new();
    let has = |key: &&'static str| found.contains(&Some(*key));
    let is_read = |key: &&'static str| {
        let mut column = columns.iter().filter(|one| one.keys.contains(key));
        column.all(|one| one.all || !one.keys.iter().take_while(|it| *it != key).any(has))
    };
    let keys = found.iter().map(|key| {
        let key = key.filter(is_read)?;
        seen.insert(key).then_some(key)
    });
    keys.collect()
}

/// The name of a column for its reader. `at` is the index.
pub fn named(at: usize, header: &str) -> String {
    let header = header.trim().chars().filter(|it| !it.is_control());
    let name: String = header.take(MAX_NAME).collect();
    if name.is_empty() {
        return format!("#{}", at + 1);
    }
    name
}

/// Adds names to a list that has each of them once.
pub fn extend(list: &mut Vec<String>, names: impl IntoIterator<Item = String>) {
    for name in names {
        if list.len() < MAX_NAMED && !list.contains(&name) {
            list.push(name);
        }
    }
}
