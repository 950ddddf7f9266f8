//! Teams with their groups and organizations.

use super::table::Record;
use super::{Line, LineError, unprotected};
use std::collections::{HashMap, HashSet};

/// The maximum length of team, group and organization names, in characters.
pub const MAX_TEAM_NAME: usize = 128;
/// The maximum length of a number, in characters.
const MAX_ID: usize = 64;

/// A team of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// The number of the team in the files, by which a later import finds it.
    pub id: String,
    /// The name.
    pub name: String,
    /// The name of the organization; empty if the team has none.
    pub organization: String,
    /// The name of the group; empty if the team has none.
    pub group: String,
    /// Whether rankings leave the team out; `None` if the files do not specify it.
    pub hidden: Option<bool>,
}

/// A group or an organization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    name: String,
    hidden: Option<bool>,
}

/// Groups or organizations by their numbers.
pub type Index = HashMap<String, Named>;

fn id(record: &Record) -> Result<String, LineError> {
    let id = record.text(&["id"]).trim();
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let fits = (1..=MAX_ID).contains(&id.chars().count()) && id.chars().all(is_plain);
    fits.then(|| id.to_owned()).ok_or(LineError::Id)
}

/// The first of these columns that is not empty.
fn name(record: &Record, columns: &[&str]) -> String {
    let texts = columns.iter().map(|column| record.text(&[column]));
    let mut names = texts.map(|text| unprotected(text).trim());
    names
        .find(|name| !name.is_empty())
        .unwrap_or_default()
        .to_owned()
}

fn check_name(name: String) -> Result<String, LineError> {
    let fits = name.chars().count() <= MAX_TEAM_NAME && !name.chars().any(char::is_control);
    fits.then_some(name).ok_or(LineError::TeamName)
}

fn hidden(record: &Record) -> Option<bool> {
    match record.text(&["hidden"]).trim() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// Reads groups or organizations, and returns them with the refused lines. The first of `columns`
/// that is not empty contains the name.
pub fn index(records: Vec<Line<Record>>, columns: &[&str]) -> (Index, Vec<(usize, LineError)>) {
    let (mut index, mut refused) = (Index::new(), Vec::new());
    for line in records {
        let read = line.found.and_then(|record| {
            let name = match name(&record, columns) {
                name if name.is_empty() => return Err(LineError::TeamName),
                name => check_name(name)?,
            };
            let hidden = hidden(&record);
            Ok((id(&record)?, Named { name, hidden }))
        });
        match read {
            Ok((id, _)) if index.contains_key(&id) => {
                refused.push((line.number, LineError::Twice(id)));
            }
            Ok((id, named)) => {
                index.insert(id, named);
            }
            Err(error) => refused.push((line.number, error)),
        }
    }
    (index, refused)
}

/// The teams of a file.
pub fn teams(records: Vec<Line<Record>>, groups: &Index, organizations: &Index) -> Vec<Line<Team>> {
    let mut ids = HashSet::new();
    let teams = records.into_iter().map(|line| {
        let team = |record| {
            let team = team(&record, groups, organizations)?;
            if ids.insert(team.id.clone()) {
                Ok(team)
            } else {
                Err(LineError::Twice(team.id))
            }
        };
        Line {
            number: line.number,
            found: line.found.and_then(team),
        }
    });
    teams.collect()
}

fn team(record: &Record, groups: &Index, organizations: &Index) -> Result<Team, LineError> {
    let id = id(record)?;
    let name = match name(record, &["display_name", "name"]) {
        name if name.is_empty() => return Err(LineError::TeamName),
        name => check_name(name)?,
    };
    let listed = |names: &[&str], index: &Index, error: fn(String) -> LineError| match record
        .text(names)
        .trim()
    {
        "" => Ok(None),
        id => index.get(id).cloned().map(Some).ok_or(error(id.to_owned())),
    };
    let group = listed(&["group_id", "group_ids"], groups, LineError::Group)?;
    let organization = listed(&["organization_id"], organizations, LineError::Organization)?;
    let organization = match organization {
        Some(found) => found.name,
        None => check_name(self::name(record, &["organization"]))?,
    };
    let of_group = group.as_ref().and_then(|group| group.hidden);
    Ok(Team {
        id,
        name,
        organization,
        group: group.map_or(String::new(), |group| group.name),
        hidden: hidden(record).or(of_group),
    })
}
