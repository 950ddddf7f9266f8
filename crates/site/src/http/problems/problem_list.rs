//! The list of problems, and the search in it.

use super::Place;
use crate::core::access::{self, Viewer};
use crate::core::search::Search;
use crate::db::problem::{self, Problem, Visibility};
use crate::db::{self, Db};
use crate::http::contests::news;
use crate::http::web::context::Ctx;
use crate::http::web::error::Page;
use crate::http::web::layout::page;
use crate::http::web::parts::{PAGE_ROWS, button_link, empty};
use crate::text::t;
use axum::extract::Query;
use axum::response::IntoResponse;
use maud::{Markup, html};

/// How many times as many problems a search reads at a time as it returns.
const SEARCH_FACTOR: i64 = 10;

/// The first problems with greater ids than `after` that the viewer sees and the search finds. Tags
/// that the viewer does not see find nothing.
pub async fn find(
    db: &Db,
    viewer: Viewer,
    mut after: i64,
    search: &Search,
    limit: i64,
) -> db::Result<Vec<Problem>> {
    let pattern = search.pattern();
    let batch = match pattern.is_empty() {
        true => limit,
        false => limit * SEARCH_FACTOR,
    };
    let mut found = Vec::new();
    let has = |rows: &[Problem], count: i64| i64::try_from(rows.len()).is_ok_and(|it| it >= count);
    loop {
        let rows = problem::page(
            db,
            after,
            viewer.id().unwrap_or(-1),
            viewer.is_teacher(),
            viewer.is_admin(),
            batch,
        )
        .await?;
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(found);
        };
        let tags = match pattern.has_tag() {
            true => problem::tags_of_range(db, first.id, last.id).await?,
            false => Vec::new(),
        };
        after = last.id;
        let is_last = !has(&rows, batch);
        for one in rows {
            // Only tags depend on it, and a class shows none.
            let access = access::problem(viewer, &one, false);
            let start = tags.partition_point(|tag| tag.problem_id < one.id);
            let own = tags[start..].iter();
            let own = own.take_while(|tag| tag.problem_id == one.id);
            let seen = own.filter(|tag| access.sees_tag(tag));
            if pattern.finds(&one.name, seen.map(|tag| tag.name.as_str())) {
                found.push(one);
            }
            if has(&found, limit) {
                return Ok(found);
            }
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// Renders the search form. `action` is the URL of the page that shows the result.
pub fn search_form(action: &str, search: &Search) -> Markup {
    html! {
        form.inline method="get" action=(action) {
            label { (t::Name) input name="name" value=(search.name); }
            label { (t::ProblemsTag) input name="tag" value=(search.tag); }
            button { (t::Filter) }
        }
    }
}

/// `GET /problems`.
pub async fn list(
    Ctx { app, session }: Ctx,
    Query(place): Query<Place>,
    Query(search): Query<Search>,
) -> Page {
    let viewer = session.viewer();
    let after = place.after.unwrap_or(0);
    let problems = find(&app.db, viewer, after, &search, PAGE_ROWS).await?;
    let is_search = !search.pattern().is_empty();
    let main = html! {
        h1 { (t::Problems) }
        (news::banner(&app, &session).await?)
        @if viewer.is_teacher() { p { (button_link("/problems/new", t::ProblemsAdd)) } }
        @if is_search || !problems.is_empty() { (search_form("/problems", &search)) }
        @if problems.is_empty() {
            @if is_search {
                (empty(t::ProblemsNotFound, Some(("/problems", &t::ProblemsAll))))
            } @else {
                (empty(t::ProblemsEmpty, None))
            }
        } @else {
            (table(&problems))
        }
        @if let Some(last) = problems.last() && problems.len() == PAGE_ROWS as usize {
            p { a href={ "/problems" (search.query(Some(last.id))) } { (t::ProblemsFurther) } }
        }
    };
    Ok(page(&session, t::Problems, main).into_response())
}

fn table(problems: &[Problem]) -> Markup {
    html! {
        div.scroll { table {
            thead { tr {
                th.number { (t::ProblemsNumber) } th { (t::Name) } th { (t::VisibleTo) }
            } }
            tbody { @for one in problems { tr {
                td.number { (one.id) }
                td { a href={ "/problems/" (one.id) } { (one.name) } }
                td {
                    span.chip {
                        @match one.visibility {
                            Visibility::Private => (t::ProblemVisibleOwner),
                            Visibility::ContestOnly => (t::ProblemVisibleTeachers),
                            Visibility::Public => (t::VisibleAllPeople),
                        }
                    }
                }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::tests::{add_problem, add_user, with_each};
    use crate::db::user::Role;

    /// Every fourth problem has a tag, and every third of these a hidden one.
    const PROBLEMS: usize = 60;
    const LIMIT: i64 = 2;

    async fn all(db: &Db, viewer: Viewer, name: &str, tag: &str) -> Vec<i64> {
        let search = Search {
            name: name.to_owned(),
            tag: tag.to_owned(),
        };
        let (mut ids, mut after) = (Vec::new(), 0);
        loop {
            let found = find(db, viewer, after, &search, LIMIT).await.unwrap();
            assert!(found.len() <= 2);
            ids.extend(found.iter().map(|one| one.id));
            match found.last() {
                Some(last) if found.len() == 2 => after = last.id,
                _ => return ids,
            }
        }
    }

    #[test]
    fn search_finds_each_problem_once_in_parts() {
        with_each(async |db| {
            let ada = add_user(db, "ada", Role::Teacher).await;
            let bob = add_user(db, "bob", Role::User).await;
            let viewer = |user| Viewer { user: Some(user) };
            let (mut ids, mut tagged, mut hidden) = (Vec::new(), Vec::new(), Vec::new());
            for index in 0..PROBLEMS {
                let (id, _) = add_problem(db, ada, Visibility::Public).await;
                ids.push(id);
                let mut tags = Vec::new();
                if index % 4 == 3 {
                    tags.push(("Żółw".to_owned(), false));
                    tagged.push(id);
                }
                if index % 12 == 11 {
                    tags.push(("Ściśle tajne".to_owned(), true));
                    hidden.push(id);
                }
                let mut tx = db.begin().await.unwrap();
                problem::set_tags(&mut tx, id, &tags).await.unwrap();
                tx.commit().await.unwrap();
            }
            let teacher = viewer((ada, Role::Teacher));
            // The owner, as a user without the role.
            let owner = viewer((ada, Role::User));
            let stranger = viewer((bob, Role::User));
            for one in [teacher, owner, stranger, Viewer { user: None }] {
                assert_eq!(all(db, one, "", "").await, ids);
                assert_eq!(all(db, one, "sUM", "").await, ids);
                assert_eq!(all(db, one, "", "ŻÓŁW").await, tagged);
                assert_eq!(all(db, one, "trees", "").await, [0_i64; 0]);
                let is_seen = one == teacher || one == owner;
                let expected: &[i64] = if is_seen { &hidden } else { &[] };
                assert_eq!(all(db, one, "", "ściśle TAJNE").await, expected, "{one:?}");
            }
        });
    }
}
