//! The files that a group refers to, and the memory of the service that it needs.
//!
//! Files are found once for each group, before it is admitted, and opened only when they are used.

use super::GoJudge;
use super::error::GroupError;
use super::host_files;
use super::model::{Command, CommandFile, CopyOut, Group};
use crate::config::GoJudgeConfig;
use crate::core::budget::{Budget, MAX_RENDERED_BYTES};
use crate::core::execution::Content;
use crate::core::files::StoredFile;
use crate::core::plan::{Plan, RECORD_BYTES};
use crate::tokens::Client;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Copies of an output while it is returned: the text, and the answer, which grows.
const COPIES: u64 = 3;

/// The stored files of a group, by their ids.
#[derive(Debug)]
pub struct StoredFiles(BTreeMap<String, StoredFile>);

impl StoredFiles {
    /// Finds the files of a group.
    ///
    /// # Errors
    /// The client has no such file.
    pub fn find(
        go_judge: &GoJudge,
        client: &Client,
        group: &Group,
    ) -> Result<StoredFiles, GroupError> {
        let mut files = BTreeMap::new();
        for file in group.commands.iter().flat_map(files_of) {
            if let CommandFile::Stored(id) = file
                && !files.contains_key(id)
            {
                let found = go_judge.files.find(&go_judge.service.files, client, id);
                let (_, file) = found.ok_or_else(|| GroupError::UnknownFile(id.clone()))?;
                files.insert(id.clone(), file);
            }
        }
        Ok(StoredFiles(files))
    }

    /// The content of a file.
    ///
    /// # Errors
    /// The group does not name it.
    pub fn content(&self, id: &str) -> Result<Content, GroupError> {
        let file = self.0.get(id).cloned();
        file.map(Content::Stored)
            .ok_or_else(|| GroupError::UnknownFile(id.to_owned()))
    }

    /// The size of a file. A file of the host counts only if it is below one of these directories;
    /// otherwise the request is rejected later. It counts at most `max_bytes`.
    fn bytes(&self, prefixes: &[PathBuf], max_bytes: u64, file: &CommandFile) -> u64 {
        match file {
            CommandFile::Content(bytes) => bytes.len() as u64,
            CommandFile::Stored(id) => self.0.get(id).map_or(0, StoredFile::bytes),
            CommandFile::Local(path) => {
                let bytes = match host_files::find(prefixes, path) {
                    Ok(Ok(file)) => file.bytes(),
                    _ => 0,
                };
                bytes.min(max_bytes)
            }
            _ => 0,
        }
    }

    /// The archive and the inputs of a command.
    fn input_bytes(&self, prefixes: &[PathBuf], max_bytes: u64, command: &Command) -> u64 {
        let bytes = |file| self.bytes(prefixes, max_bytes, file);
        let archive = command.copy_in.values();
        let archive = archive.map(|file| bytes(file).saturating_add(RECORD_BYTES));
        let inputs = command.files.iter().flatten();
        let inputs = inputs.filter_map(|file| match file {
            CommandFile::Stored(id) => self.content(id).ok().map(|it| it.memory_bytes()),
            file => Some(bytes(file)),
        });
        archive.chain(inputs).fold(0, u64::saturating_add)
    }
}

fn files_of(command: &Command) -> impl Iterator<Item = &CommandFile> {
    command
        .files
        .iter()
        .flatten()
        .chain(command.copy_in.values())
}

/// The largest size of a returned file.
pub fn max_copy_out(config: &GoJudgeConfig, command: &Command) -> u64 {
    match command.copy_out_max {
        0 => config.copy_out_limit,
        max => max.min(config.copy_out_limit),
    }
}

/// The bytes of output that all commands of a group may return: the content of a whole working
/// directory.
fn output_budget(go_judge: &GoJudge) -> u64 {
    let answer_bytes = go_judge.service.config.requests.answer_bytes;
    answer_bytes.max(go_judge.file_system.work_bytes)
}

/// The bytes of output that a command may return as text, and those that it may store.
fn output_bytes(config: &GoJudgeConfig, command: &Command) -> (u64, u64) {
    let collectors = command.files.iter().flatten().map(|file| match file {
        CommandFile::Collector { max, .. } => (*max).min(config.output_limit),
        _ => 0,
    });
    // The name of a collector names its content, not a file, so it needs nothing more.
    let is_collected = |copy_out: &CopyOut| {
        let mut files = command.files.iter().flatten();
        files.any(|it| matches!(it, CommandFile::Collector { name, .. } if *name == copy_out.name))
    };
    let max = max_copy_out(config, command);
    let files = |names: &[CopyOut]| {
        let count = names.iter().filter(|name| !is_collected(name)).count();
        max.saturating_mul(count as u64)
    };
    let text = collectors.fold(files(&command.copy_out), u64::saturating_add);
    (text, files(&command.copy_out_cached))
}

/// The memory that a group needs. Its commands run at the same time if it is coupled, and otherwise
/// one after another.
pub fn plan(go_judge: &GoJudge, group: &Group, stored: &StoredFiles, is_coupled: bool) -> Plan {
    let service = &go_judge.service;
    let max_bytes = go_judge.file_system.bytes;
    let prefixes = &service.config.go_judge_source_prefixes;
    let inputs = group.commands.iter();
    let inputs = inputs.map(|it| stored.input_bytes(prefixes, max_bytes, it));
    let inputs = match is_coupled {
        true => inputs.fold(0, u64::saturating_add),
        false => inputs.max().unwrap_or(0),
    };
    let (mut text, mut cached) = (0_u64, 0_u64);
    for command in &group.commands {
        let (more_text, more_cached) = output_bytes(&service.config.go_judge, command);
        text = text.saturating_add(more_text);
        cached = cached.saturating_add(more_cached);
    }
    let proxies = group.pipes.iter().filter_map(|pipe| pipe.proxy.as_ref());
    text = proxies
        .map(|proxy| proxy.max)
        .fold(text, u64::saturating_add);
    let read = text.saturating_add(cached).min(output_budget(go_judge));
    let answer = text.saturating_mul(MAX_RENDERED_BYTES);
    let answer = answer.min(service.config.requests.answer_bytes);
    Plan::default()
        .plus(group.size_bytes as u64)
        .plus_inputs(inputs)
        .plus(read)
        .plus(answer.saturating_mul(COPIES))
}

/// The outputs of a group.
pub fn budget(go_judge: &GoJudge) -> Budget {
    Budget::new(output_budget(go_judge))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_host_count_only_if_requests_may_read_them() {
        let host = tempfile::tempdir().unwrap();
        let prefixes = [host.path().join("shown")];
        std::fs::create_dir(&prefixes[0]).unwrap();
        let stored = StoredFiles(BTreeMap::new());
        for (name, bytes) in [("shown/file", 1000), ("hidden", 0)] {
            let path = host.path().join(name);
            std::fs::write(&path, [0; 1000]).unwrap();
            let file = CommandFile::Local(path);
            assert_eq!(stored.bytes(&prefixes, 2000, &file), bytes);
            assert_eq!(stored.bytes(&prefixes, 10, &file), bytes.min(10));
        }
    }

    #[test]
    fn names_of_collectors_are_counted_once() {
        let collector = |name: &str| {
            Some(CommandFile::Collector {
                name: name.to_owned(),
                max: 100,
            })
        };
        let command = Command {
            files: vec![None, collector("stdout"), collector("stderr")],
            copy_out: ["stdout", "stderr", "a?"].map(CopyOut::parse).to_vec(),
            copy_out_cached: ["stdout", "b"].map(CopyOut::parse).to_vec(),
            copy_out_max: 1000,
            ..Command::default()
        };
        let config = GoJudgeConfig::default();
        assert_eq!(output_bytes(&config, &command), (1200, 1000));
    }
}
