//! Programs, their files, input and output.

use super::{execute, program, server, with};
use crate::server::Server;
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;

#[test]
fn program_returns_all_fields_of_its_run() {
    let server = server();
    let answer = execute(&server, &program("py", "print('hi')"));
    assert_eq!(answer["language"], "python");
    assert!(answer["version"].as_str().unwrap().starts_with("3."));
    assert_eq!(answer.get("compile"), None);
    let run = &answer["run"];
    assert_eq!(run["stdout"], "hi\n");
    assert_eq!(run["stderr"], "");
    assert_eq!(run["output"], "hi\n");
    assert_eq!(run["code"], 0);
    for null in ["signal", "message", "status"] {
        assert!(run.get(null).unwrap().is_null(), "{null}: {run}");
    }
    for number in ["memory", "cpu_time", "wall_time"] {
        assert!(run[number].is_u64(), "{number}: {run}");
    }
}

#[test]
fn input_ends_with_a_newline() {
    let server = server();
    let read = program("python", "import sys; print(repr(sys.stdin.read()))");
    for (stdin, expected) in [
        (json!(null), "'\\n'\n"),
        (json!(""), "'\\n'\n"),
        (json!("a\nb"), "'a\\nb\\n'\n"),
        (json!("a\n"), "'a\\n'\n"),
    ] {
        let answer = execute(&server, &with(read.clone(), &json!({ "stdin": stdin })));
        assert_eq!(answer["run"]["stdout"], expected, "{stdin}");
    }
    // A program need not read its input.
    let ignored = with(
        program("bash", "echo x"),
        &json!({ "stdin": "y".repeat(1 << 20) }),
    );
    assert_eq!(execute(&server, &ignored)["run"]["stdout"], "x\n");
}

#[test]
fn program_sees_the_directory_and_environment_of_piston() {
    let server = server();
    let answer = execute(
        &server,
        &program("sh", "pwd; echo $HOME $PISTON_LANGUAGE; echo >new"),
    );
    assert_eq!(answer["run"]["stdout"], "/box/submission\n/tmp bash\n");
    assert_eq!(answer["run"]["code"], 0, "{answer}");
}

#[test]
fn files_and_arguments_reach_the_program() {
    let server = server();
    let fields = json!({
        "version": "3.x",
        "args": ["a b", "", "-c"],
        "files": [
            { "name": "data/x.bin", "content": "AP8=", "encoding": "base64" },
            { "name": "h", "content": "6869", "encoding": "hex" },
            {
                "name": "src/../main.py",
                "content": "import sys, helper\n\
                            print(sys.argv[1:], open('data/x.bin', 'rb').read())\n\
                            print(open('h').read(), helper.value)",
            },
            { "name": "helper.py", "content": "value = 7" },
        ],
    });
    let answer = execute(&server, &with(program("python", ""), &fields));
    assert_eq!(
        answer["run"]["stdout"], "['a b', '', '-c'] b'\\x00\\xff'\nhi 7\n",
        "{answer}"
    );
}

#[test]
fn output_is_in_order_of_arrival() {
    // The program waits until the service has read one stream before it writes to the other one.
    let server = server();
    let source = "
import fcntl, os, termios, time
def write(stream, text):
    os.write(stream, text)
    while fcntl.ioctl(stream, termios.FIONREAD, bytes(4)) != bytes(4):
        time.sleep(0.01)
for round in range(3):
    write(2, b'e')
    write(1, b'o')
";
    let answer = execute(&server, &program("python", source));
    assert_eq!(answer["run"]["output"], "eoeoeo", "{answer}");
    assert_eq!(answer["run"]["stdout"], "ooo");
    assert_eq!(answer["run"]["stderr"], "eee");
}

#[test]
fn compiled_program_has_a_compile_stage() {
    let server = server();
    let good = execute(
        &server,
        &program(
            "c++",
            "#include <iostream>\nint main() { std::cout << 6 * 7; }",
        ),
    );
    assert_eq!(good["compile"]["code"], 0, "{good}");
    assert_eq!(good["run"]["stdout"], "42");
    let faulty = execute(&server, &program("cpp", "int main() { return x; }"));
    assert_eq!(faulty["compile"]["code"], 1, "{faulty}");
    assert_eq!(faulty["compile"]["status"], "RE");
    assert!(!faulty["compile"]["stderr"].as_str().unwrap().is_empty());
    assert_eq!(faulty["compile"], faulty["run"]);
}

#[test]
fn faulty_script_fails_in_its_run() {
    let server = server();
    let answer = execute(&server, &program("python", "print(1"));
    assert_eq!(answer.get("compile"), None);
    assert_eq!(answer["run"]["code"], 1, "{answer}");
    let stderr = answer["run"]["stderr"].as_str().unwrap();
    assert!(stderr.contains("SyntaxError"), "{stderr}");
}

#[test]
fn first_file_is_the_main_one() {
    let server = server();
    for directory in ["", "src/"] {
        let name = |name: &str| format!("{directory}{name}");
        let fields = json!({
            "files": [
                { "name": name("app.py"), "content": "import main; print('app')" },
                { "name": name("main.py"), "content": "print('main')" },
            ],
        });
        let answer = execute(&server, &with(program("python", ""), &fields));
        assert_eq!(
            answer["run"]["stdout"], "main\napp\n",
            "{directory:?}: {answer}"
        );
    }
}

#[test]
fn address_for_everything_serves_piston_below_its_prefix() {
    let server = Server::everything();
    assert_eq!(
        execute(&server, &program("bash", "echo x"))["run"]["stdout"],
        "x\n"
    );
    let other = server.get("/api/v2/other");
    assert_eq!(other.json(), json!({ "message": "Not Found" }));
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn disconnected_client_frees_its_place() {
    // The memory suffices for one run. A request waits longer than a short program runs.
    let server = Server::with_config(
        "piston",
        "[running]\nmemory_bytes = 268435456\n[queue]\nwait_ms = 1000\n",
    );
    let becomes = |status: u16| {
        millibox_tests::eventually(millibox_tests::HANG_TIMEOUT, || {
            server
                .post("/api/v2/execute", &program("bash", "true"))
                .status
                == status
        })
    };
    let body = with(
        program("bash", "read; sleep 600"),
        &json!({ "run_timeout": 600_000 }),
    );
    let body = body.to_string();
    let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    write!(
        stream,
        "POST /api/v2/execute HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    assert!(becomes(503), "the first program does not run");
    drop(stream);
    assert!(becomes(200), "the first program still runs");
}

#[test]
fn java_class_may_have_any_name() {
    let server = server();
    if !std::path::Path::new("/usr/bin/javac").exists() {
        return millibox_tests::skip("there is no /usr/bin/javac");
    }
    let code = "public class Solution { public static void main(String[] a) { \
                System.out.println(1); } }";
    let answer = execute(&server, &program("java", code));
    assert_eq!(answer["run"]["stdout"], "1\n", "{answer}");
    let files = json!({ "files": [{ "name": "test.java", "content": code }] });
    let request = with(program("java", ""), &files);
    assert_eq!(execute(&server, &request)["run"]["stdout"], "1\n");
}

#[test]
fn script_lies_beside_its_files() {
    let server = server();
    let code = "import os, sys, helper\n\
         here = os.path.dirname(os.path.abspath(__file__))\n\
         open('new.txt', 'w').write(helper.text)\n\
         print(open(os.path.join(here, 'new.txt')).read())\n\
         print(here == os.getcwd() == sys.path[0])\n";
    let fields = json!({
        "files": [
            { "name": "main.py", "content": code },
            { "name": "helper.py", "content": "text = 'written'" },
        ],
    });
    let answer = execute(&server, &with(program("python", ""), &fields));
    assert_eq!(answer["run"]["stdout"], "written\nTrue\n", "{answer}");
}
