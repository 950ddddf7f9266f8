use super::*;

/// A user; an empty name is absent.
fn entry(login: &str, name: &str, role: Option<Role>, password: Option<&str>) -> Entry {
    Entry {
        login: login.to_owned(),
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        email: None,
        role,
        password: password.map(str::to_owned),
        team: None,
    }
}

/// The users of a single file.
fn users(text: &str) -> Result<Vec<Line<Entry>>, FileError> {
    let roster = read(Scope::Contest, |file| {
        if file == File::Accounts { text } else { "" }
    });
    roster
        .map(|roster| roster.accounts)
        .map_err(|error| error.why)
}

/// The first refused line.
fn mistake(text: &str) -> (usize, LineError) {
    let lines = users(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let refused = lines
        .into_iter()
        .find_map(|line| Some((line.number, line.found.err()?)));
    refused.unwrap_or_else(|| panic!("{text:?}"))
}

fn teams(teams: &str, groups: &str, organizations: &str) -> Result<Roster, RosterError> {
    read(Scope::Contest, |file| match file {
        File::Teams => teams,
        File::Groups => groups,
        File::Organizations => organizations,
        File::Accounts => "",
    })
}

fn team(id: &str, name: &str, organization: &str, group: &str, hidden: Option<bool>) -> Team {
    let [id, name, organization, group] = [id, name, organization, group].map(str::to_owned);
    Team {
        id,
        name,
        organization,
        group,
        hidden,
    }
}

#[test]
fn users_are_read_in_each_format() {
    let expected = [
        entry("bob", "Bob, B.", Some(Role::User), Some("battery staple")),
        entry("eve", "", Some(Role::Teacher), None),
    ];
    for text in [
        "login,name,role,password\nbob,\"Bob, B.\",user,battery staple\neve,,teacher,\n",
        "\u{feff}Login;Name;Role;Password\r\nbob;Bob, B.;user;battery staple\r\neve;;teacher;\r\n",
        "password\tusername\tname\trole\nbattery staple\tbob\tBob, B.\tuser\n\teve\t\tjury",
        "accounts\t1\nteam\tBob, B.\tbob\tbattery staple\njudge\t\teve\t\n",
        "File_Version\t1\r\nteam\tBob, B.\tbob\tbattery staple\r\n\r\njudge\t\teve\t\r\n",
        r#"[{"login": "bob", "name": "Bob, B.", "type": "user", "password": "battery staple"},
            {"id": 7, "username": "eve", "type": "judge", "team_id": null}]"#,
    ] {
        let found = users(text).unwrap().into_iter().map(|line| line.found);
        let found: Result<Vec<Entry>, LineError> = found.collect();
        assert_eq!(found.as_deref(), Ok(&expected[..]), "{text}");
    }
}

#[test]
fn empty_fields_keep_what_a_user_has() {
    for text in ["login\nbob\n", "login,name,role\nbob,,\n"] {
        let found = users(text).unwrap().remove(0).found.unwrap();
        assert_eq!(found, entry("bob", "", None, None));
        assert_eq!(found.name_after(None), "bob");
        assert_eq!(found.name_after(Some("Bob B.")), "Bob B.");
        assert_eq!(found.role_after(None), Role::User);
        assert_eq!(found.role_after(Some(Role::Teacher)), Role::Teacher);
    }
    let listed = entry("bob", "Bob", Some(Role::User), None);
    assert_eq!(listed.name_after(Some("Bob B.")), "Bob");
}

#[test]
fn listed_role_is_given_but_never_lowered() {
    let (user, teacher, admin) = (Role::User, Role::Teacher, Role::Admin);
    for (listed, earlier, expected) in [
        (None, None, user),
        (Some(teacher), None, teacher),
        (None, Some(admin), admin),
        (Some(user), Some(user), user),
        (Some(user), Some(teacher), teacher),
        (Some(user), Some(admin), admin),
        (Some(teacher), Some(admin), admin),
        (Some(teacher), Some(user), teacher),
        (Some(admin), Some(teacher), admin),
    ] {
        let found = entry("bob", "Bob", listed, None).role_after(earlier);
        assert_eq!(found, expected, "{listed:?} {earlier:?}");
    }
}

#[test]
fn accounts_of_teams_have_a_number() {
    for (text, number) in [
        (
            "accounts\t1\nteam\tOwls\tteam007\tbattery staple\n",
            Some("7"),
        ),
        (
            "accounts\t1\nteam\tOwls\tx10-y3\tbattery staple\n",
            Some("10"),
        ),
        ("accounts\t1\nteam\tOwls\tteam000\tbattery staple\n", None),
        ("accounts\t1\njudge\tOwls\tjudge007\tbattery staple\n", None),
        ("login,team\nteam007,b3\n", Some("b3")),
        (
            r#"[{"id": "owls", "type": "team", "team_id": 42}]"#,
            Some("42"),
        ),
    ] {
        let found = users(text).unwrap().remove(0).found.unwrap().team;
        assert_eq!(found.as_deref(), number, "{text}");
    }
}

#[test]
fn refused_lines_have_their_numbers_and_reasons() {
    use LineError::{Field, Malformed, Twice};
    let table = [
        ("login\nbob\na b", 3, Field(AccountError::Login)),
        ("\n\nlogin\n\n\nbob\n\na b", 8, Field(AccountError::Login)),
        ("login,email\nbob,nowhere", 2, Field(AccountError::Email)),
        (
            "login,password\nbob,short",
            2,
            Field(AccountError::Password),
        ),
        ("login,name\nbob,a\u{1}b", 2, Field(AccountError::Name)),
        ("login,password\nbob,\"battery\nfred,staple\n", 2, Malformed),
        (
            "login,team\nbob,a\u{0}",
            2,
            LineError::Team("a\u{0}".to_owned()),
        ),
        ("login\nbob\nBOB", 3, Twice("BOB".to_owned())),
        ("login,name\nbob\nfred,Fred", 2, Malformed),
        (
            "login,name\n\"b\no\nb\",\nfred\n",
            2,
            Field(AccountError::Login),
        ),
        (
            "login,role\nbob,root",
            2,
            LineError::Role("root".to_owned()),
        ),
        ("accounts\t1\n\nteam\tbob", 3, Malformed),
        (r#"[{"login": "bob"}, 7]"#, 2, Malformed),
        (
            r#"[{"login": "bob"}, {"name": "x"}]"#,
            2,
            Field(AccountError::Login),
        ),
    ];
    for (text, number, error) in table {
        assert_eq!(mistake(text), (number, error), "{text:?}");
    }
    // The lines after a refused one are read.
    let lines = users("login,name\nbob\nfred,Fred\n").unwrap();
    assert_eq!(lines[1].found, Ok(entry("fred", "Fred", None, None)));
}

#[test]
fn files_without_a_known_format_are_refused() {
    let version = |text: &str| FileError::Version(text.to_owned());
    let format = |line, found: &[&str]| FileError::Format {
        line,
        found: found.iter().map(|name| (*name).to_owned()).collect(),
        accepted: columns::ACCOUNTS[0].names(),
    };
    let table = [
        ("", FileError::Size),
        ("name\nbob", format(1, &["name"])),
        ("\nKlasa 2a;\nlogin;name\n", format(2, &["Klasa 2a"])),
        ("login\n", FileError::Size),
        ("accounts\t2\n", version("2")),
        ("accounts\n", version("")),
        ("[]", FileError::Size),
    ];
    for (text, error) in table {
        assert_eq!(users(text), Err(error), "{text:?}");
    }
    assert!(matches!(users("[{]"), Err(FileError::Json(_))));
    let deep = "[".repeat(100_000);
    assert!(matches!(users(&deep), Err(FileError::Json(_))));
    let many = |count, line: &str| format!("login,password\n{}", line.repeat(count));
    assert!(users(&many(MAX_LINES, "bob,\n")).is_ok());
    assert_eq!(users(&many(MAX_LINES + 1, "bob,\n")), Err(FileError::Size));
    let long = format!("login\n{}", "x".repeat(MAX_BYTES));
    assert_eq!(users(&long), Err(FileError::Bytes));
    let secret = (0..=MAX_PASSWORDS).map(|number| format!("u{number},password\n"));
    let secret = format!("login,password\n{}", secret.collect::<String>());
    assert_eq!(users(&secret), Err(FileError::Passwords));
}

#[test]
fn teams_have_the_names_of_their_groups_and_organizations() {
    let groups = "File_Version\t1\n3\tStudents\n4\tGuests\n";
    let owls = team("1", "Owls", "Oak School", "Students", None);
    for (text, groups, organizations) in [
        (
            "teams\t1\n1\t447\t3\tOwls\tOak School\tOak\tDEU\n",
            groups,
            "",
        ),
        (
            "File_Version\t2\n1\t\t3\tOwls\tOak School\tOak\tDEU\tINST-42\n",
            groups,
            "",
        ),
        (
            r#"[{"id": 1, "name": "O", "display_name": "Owls", "group_ids": ["3"],
                "organization_id": "INST-42", "members": ["a", "b"]}]"#,
            groups,
            r#"[{"id": "INST-42", "name": "Oak", "formal_name": "Oak School"}]"#,
        ),
        (
            "id,name,organization,group_id\n1,Owls,Oak School,3\n",
            "id,name\n3,Students\n",
            "",
        ),
    ] {
        let roster = teams(text, groups, organizations).unwrap();
        let found: Vec<_> = roster.teams.into_iter().map(|line| line.found).collect();
        assert_eq!(found, [Ok(owls.clone())], "{text}");
    }
    let groups = r#"[{"id": "9", "name": "Staff", "hidden": true}]"#;
    let text = r#"[{"id": "1", "name": "A", "group_ids": ["9"]},
        {"id": "2", "name": "B", "group_ids": ["9"], "hidden": false},
        {"id": "3", "name": "C", "group_ids": []}]"#;
    let roster = teams(text, groups, "").unwrap();
    let hidden: Vec<_> = roster
        .teams
        .into_iter()
        .map(|line| line.found.unwrap().hidden)
        .collect();
    assert_eq!(hidden, [Some(true), Some(false), None]);
}

#[test]
fn teams_groups_and_organizations_are_checked() {
    use LineError::{Group, Id, Malformed, Organization, TeamName, Twice};
    let long = format!("id,name\n1,{}", "x".repeat(MAX_TEAM_NAME + 1));
    let table = [
        ("teams\t1\n1\t\t3\tOwls\t\t\t\n", 2, Group("3".to_owned())),
        (
            "id,name,organization_id\n1,Owls,7\n",
            2,
            Organization("7".to_owned()),
        ),
        ("id,name\n1,Owls\n1,Bees\n", 3, Twice("1".to_owned())),
        ("id,name\n1,\n", 2, TeamName),
        (&long, 2, TeamName),
        ("id,name\n,Owls\n", 2, Id),
        ("id,name\na b,Owls\n", 2, Id),
        ("teams\t1\n1\tOwls\n", 2, Malformed),
    ];
    for (text, number, error) in table {
        let lines = teams(text, "", "").unwrap().teams.into_iter();
        let found = lines.filter_map(|line| Some((line.number, line.found.err()?)));
        assert_eq!(found.collect::<Vec<_>>(), [(number, error)], "{text:?}");
    }
    let groups = "groups\t1\n3\tStudents\n3\tGuests\n4\n";
    let roster = teams("id,name\n1,Owls\n", groups, "id,name\n7,\n").unwrap();
    assert_eq!(
        roster.refused,
        [
            (File::Groups, 3, Twice("3".to_owned())),
            (File::Groups, 4, Malformed),
            (File::Organizations, 2, TeamName),
        ]
    );
    let refused = |file, why| Err(RosterError { file, why });
    let version = FileError::Version("3".to_owned());
    assert_eq!(
        teams("File_Version\t3\n", "", ""),
        refused(File::Teams, version)
    );
    let found = teams("id,name\n1,Owls\n", "", "name\nOak\n");
    assert_eq!(
        found,
        refused(
            File::Organizations,
            FileError::Format {
                line: 1,
                found: vec!["name".to_owned()],
                accepted: columns::ORGANIZATIONS[0].names(),
            }
        )
    );
}

#[test]
fn cells_are_no_formulas_and_survive_a_round_trip() {
    let text = csv([vec!["login", "name"], vec!["bob", "=1+1,\"x\""]]);
    assert_eq!(text, "login,name\nbob,\"'=1+1,\"\"x\"\"\"\n");
    let found = users(&text).unwrap().remove(0).found.unwrap();
    assert_eq!(found.name.as_deref(), Some("=1+1,\"x\""));
}

/// The users of a file of the site, and the columns that are not read.
fn site_users(text: &str) -> (Vec<Entry>, Vec<String>) {
    let found = read(
        Scope::Site,
        |file| {
            if file == File::Accounts { text } else { "" }
        },
    );
    let found = found.unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let users = found.accounts.into_iter().map(|line| line.found.unwrap());
    let unused = found.unused.into_iter().flat_map(|one| one.names);
    (users.collect(), unused.collect())
}

#[test]
fn headers_of_spreadsheets_are_read_in_each_language() {
    let ala = entry("ala", "Ala A", None, Some("battery staple"));
    for text in [
        "Login,Imię i nazwisko,Hasło\nala,Ala A,battery staple\n",
        "LOGIN;IMIE I NAZWISKO;HASLO\r\nala;Ala A;battery staple\r\n",
        "Nazwa użytkownika\tImię\tNazwisko\tHasło\nala\tAla\tA\tbattery staple\n",
        "Benutzername;Vorname;Nachname;Passwort\nala;Ala;A;battery staple\n",
        "Kennung;Vor- und Nachname;Kennwort\nala;Ala A;battery staple\n",
        "sep=;\r\nUser name;Full-Name;Password [Required]\r\nala;Ala A;battery staple\r\n",
        "First Name [Required],Last Name [Required],Username,Password\nAla,A,ala,battery staple\n",
        "\"Name; full, as shown (x)\",login,name,password,\nx,ala,Ala A,battery staple,\n,,,,\n",
        // The accents as symbols of their own.
        "login;imie\u{328} i nazwisko;Has\u{142}o\nala;Ala A;battery staple\n",
    ] {
        let (users, _) = site_users(text);
        assert_eq!(users, std::slice::from_ref(&ala), "{text}");
    }
    let (users, _) = site_users("Login;E-mail;Adres e-mail;Rola\nala;a@b.org;c@d.org;teacher\n");
    assert_eq!(users[0].email.as_deref(), Some("a@b.org"));
    assert_eq!(users[0].role, Some(Role::Teacher));
}

#[test]
fn columns_that_are_not_read_are_named() {
    for (text, expected) in [
        ("login,name\nala,Ala\n", &[][..]),
        ("login,Klasa, Ocena \nala,2a,5\n", &["Klasa", "Ocena"]),
        ("login,name,Name,NAME\nala,Ala,x,y\n", &["Name", "NAME"]),
        ("login,username,id\nala,x,7\n", &["username", "id"]),
        ("login;;\nala;;x\n", &["#3"]),
        ("login;team\nala;7\n", &["team"]),
        ("accounts\t1\nteam\tAla\tala\tbattery staple\tx\n", &["#5"]),
        (
            r#"[{"login": "ala", "klasa": 2, "x": null}, {"id": "o", "login": "o"}, {"id": "e"}]"#,
            &["klasa"],
        ),
    ] {
        let (_, unused) = site_users(text);
        assert_eq!(unused, expected, "{text}");
    }
    let roster = teams("teams\t1\n1\t447\t\tOwls\tOak School\tOak\tDEU\n", "", "").unwrap();
    assert_eq!(roster.unused[0].names, ["icpc_id", "short_name", "country"]);
    assert!(roster.unused[0].read.contains(&"organization"));
    let roster = teams(
        "Nr;Zespół;Szkoła;Miasto\n1;Sowy;LO 1;Gdynia\n",
        "id,name,icpc_id\n3,Students,9\n",
        "",
    );
    let roster = roster.unwrap();
    let unused = roster.unused.iter().map(|one| (one.file, &one.names[..]));
    let (city, icpc) = (["Miasto".to_owned()], ["icpc_id".to_owned()]);
    assert_eq!(
        unused.collect::<Vec<_>>(),
        [(File::Groups, &icpc[..]), (File::Teams, &city[..])]
    );
    let found = roster.teams[0].found.as_ref().unwrap();
    assert_eq!(*found, team("1", "Sowy", "LO 1", "", None));
}
