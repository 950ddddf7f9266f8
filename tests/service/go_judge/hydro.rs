//! Hydro's judge: the requests that it sends for a compiled program, its checker and an interactor.

use super::Judge;
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
/// Hydro limits output that it does not store to this size.
const SMALL_BYTES: u64 = 4 * MIB;
/// The limit of output that it stores.
const STDIO_BYTES: u64 = 32 * MIB;

/// A command as Hydro assembles it.
fn command(execute: &[&str], changes: Value) -> Value {
    let mut command = json!({
        "args": execute,
        "env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/w"],
        "files": [{"content": ""}, {"name": "stdout", "max": SMALL_BYTES},
                  {"name": "stderr", "max": SMALL_BYTES}],
        // The machine may be busy.
        "cpuLimit": 16_000_000_000_u64,
        "clockLimit": 48_000_000_000_u64,
        "memoryLimit": 256 * MIB,
        "strictMemoryLimit": false,
        "stackLimit": 0,
        "procLimit": 32,
        "copyOutMax": 3 * STDIO_BYTES,
        "copyIn": {},
        "copyOut": [],
        "copyOutCached": [],
    });
    if let Value::Object(changes) = changes {
        for (name, value) in changes {
            command[name] = value;
        }
    }
    command
}

impl Judge {
    /// Compiles a script, whose "compiler" copies it, and returns the id of the program.
    fn compile(&self, source: &str) -> String {
        let compiler = command(
            &["sh", "-c", "cp foo.sh foo && echo compiled >&2"],
            json!({"copyIn": {"foo.sh": {"content": source}}, "copyOutCached": ["foo"]}),
        );
        let result = self.run(compiler);
        assert_eq!(result["status"], "Accepted", "{result}");
        assert_eq!(result["files"]["stderr"], "compiled\n");
        id(&result, "foo")
    }
}

fn id(result: &Value, name: &str) -> String {
    let id = result["fileIds"][name].as_str();
    id.unwrap_or_else(|| panic!("no {name} in {result}"))
        .to_owned()
}

#[test]
fn hydro_compiles_runs_checks_and_deletes() {
    let data = millibox_tests::directory();
    let path = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("1.in"), "2 3\n").unwrap();
    std::fs::write(path("1.out"), "5\n").unwrap();
    let prefix = data.path().to_str().unwrap();
    let judge = Judge::with_config(&format!("go_judge_source_prefixes = [{prefix:?}]"));
    let program = judge.compile("#!/bin/sh\nread a b\necho $((a + b))\n");
    let checker = judge.compile("#!/bin/sh\ncmp -s \"$2\" \"$3\" && echo ok single line >&2\n");

    let run = judge.run(command(
        &["/w/foo"],
        json!({
            "files": [{"src": path("1.in")}, {"name": "stdout", "max": STDIO_BYTES},
                      {"name": "stderr", "max": STDIO_BYTES}],
            "copyIn": {"foo": {"fileId": program}},
            "copyOutCached": ["stdout", "stderr"],
        }),
    ));
    assert_eq!(run["status"], "Accepted", "{run}");
    let (output, errors) = (id(&run, "stdout"), id(&run, "stderr"));
    assert_eq!(
        judge.get(&format!("/file/{output}")),
        (200, b"5\n".to_vec())
    );

    let checked = judge.run(command(
        &["/w/checker", "/w/in", "/w/user_out", "/w/answer"],
        json!({"copyIn": {
            "checker": {"fileId": checker},
            "in": {"src": path("1.in")},
            "user_out": {"fileId": output},
            "answer": {"src": path("1.out")},
        }}),
    ));
    assert_eq!(checked["status"], "Accepted", "{checked}");
    assert_eq!(checked["files"]["stderr"], "ok single line\n");

    for id in [program, checker, output, errors] {
        assert_eq!(judge.delete(&id), 200);
        assert_eq!(judge.delete(&id), 404);
    }
}

#[test]
fn hydro_reads_and_writes_named_files() {
    let judge = Judge::start();
    let program = judge.compile("#!/bin/sh\ncat sum.in > sum.out\n");
    let result = judge.run(command(
        &["/w/foo"],
        json!({
            "copyIn": {"foo": {"fileId": program}, "sum.in": {"content": "1 2\n"}},
            "copyOut": ["sum.out?"],
        }),
    ));
    assert_eq!(result["files"]["sum.out"], "1 2\n", "{result}");
}

#[test]
fn hydro_runs_an_interactor() {
    let judge = Judge::start();
    let user = judge.compile("#!/bin/sh\nread question\necho \"$((question + 1))\"\n");
    let interactor = judge.compile(
        "#!/bin/sh\nread secret < \"$1\"\necho \"$secret\"\nread reply\n\
         echo \"$reply\" > \"$2\"\necho \"ok $HYDRO_TESTCASE\" >&2\n",
    );
    let stderr = json!({"name": "stderr", "max": SMALL_BYTES});
    let files = json!([null, null, stderr]);
    let commands = [
        command(
            &["/w/foo"],
            json!({"files": files, "copyIn": {"foo": {"fileId": user}}}),
        ),
        command(
            &["/w/interactor", "/w/in", "/w/tout", "/w/out"],
            json!({
                "files": files,
                "env": ["PATH=/usr/bin:/bin", "HYDRO_TESTCASE=1"],
                "copyIn": {"in": {"content": "41\n"}, "out": {"content": ""},
                           "interactor": {"fileId": interactor}},
                "copyOut": ["/w/tout?"],
            }),
        ),
    ];
    let pipe = |from: u32, to: u32, name: &str| {
        json!({
            "proxy": true, "max": STDIO_BYTES, "name": name,
            "in": {"index": from, "fd": 1}, "out": {"index": to, "fd": 0},
        })
    };
    let pipes = [
        pipe(0, 1, "userToInteractor"),
        pipe(1, 0, "interactorToUser"),
    ];
    let (status, results) = judge.group(&commands, &json!(pipes));
    assert_eq!(status, 200, "{results}");
    assert_eq!(results[0]["status"], "Accepted", "{results}");
    assert_eq!(results[0]["files"]["userToInteractor"], "42\n");
    assert_eq!(results[1]["files"]["interactorToUser"], "41\n");
    assert_eq!(results[1]["files"]["stderr"], "ok 1\n");
    assert_eq!(results[1]["files"]["/w/tout"], "42\n");
}
