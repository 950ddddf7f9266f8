//! CPU time of the processes of a site, from `/proc`.

use millibox_site_client::Site;
use std::collections::HashMap;
use std::fs;

/// `USER_HZ`, which is 100 on all machines for which millibox is built.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Usage {
    /// Threads of the site that do not judge.
    pub pages: f64,
    /// Threads of the site that judge, and their supervisors with the programs.
    pub judging: f64,
    /// The server of PostgreSQL, if this program has started it.
    pub database: f64,
    /// This program.
    pub client: f64,
}

/// A line of `/proc/PID/stat`.
struct Stat {
    name: String,
    parent: u32,
    /// Ticks of the process or thread itself.
    own: u64,
    /// Ticks of children that have ended.
    children: u64,
}

fn stat(path: &str) -> Option<Stat> {
    let text = fs::read_to_string(path).ok()?;
    let (begin, rest) = text.rsplit_once(") ")?;
    let (_, name) = begin.split_once(" (")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let number = |index: usize| fields.get(index)?.trim().parse::<u64>().ok();
    Some(Stat {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        own: number(11)? + number(12)?,
        children: number(13)? + number(14)?,
    })
}

impl Usage {
    /// The CPU time until now.
    pub fn now(site: &Site) -> Usage {
        let seconds = |ticks: u64| ticks as f64 / TICKS_PER_SECOND;
        let all = processes();
        let own = std::process::id();
        let of = |pid: u32| all.get(&pid).map_or(0, |stat| stat.own);
        let threads = fs::read_dir(format!("/proc/{}/task", site.pid()));
        let judges = threads.into_iter().flatten().filter_map(|thread| {
            let stat = stat(thread.ok()?.path().join("stat").to_str()?)?;
            stat.name.starts_with("judge-").then_some(stat.own)
        });
        let judges: u64 = judges.sum();
        let (mut programs, mut database) = (0, 0);
        for (pid, stat) in &all {
            let ticks = stat.own + stat.children;
            if is_below(&all, *pid, site.pid()) {
                programs += ticks;
            } else if stat.name == "postgres" && is_below(&all, *pid, own) {
                database += ticks;
            }
        }
        Usage {
            pages: seconds(of(site.pid()) - judges),
            judging: seconds(judges + programs),
            database: seconds(database),
            client: seconds(of(own)),
        }
    }

    /// The CPU time since an earlier point.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            pages: self.pages - earlier.pages,
            judging: self.judging - earlier.judging,
            database: self.database - earlier.database,
            client: self.client - earlier.client,
        }
    }
}

fn processes() -> HashMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        Some((pid, stat(&format!("/proc/{pid}/stat"))?))
    };
    entries.filter_map(read).collect()
}

/// Whether a process is a descendant of another one.
fn is_below(all: &HashMap<u32, Stat>, mut pid: u32, ancestor: u32) -> bool {
    while let Some(stat) = all.get(&pid) {
        if stat.parent == ancestor {
            return true;
        }
        pid = stat.parent;
    }
    false
}
