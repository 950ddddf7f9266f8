//! What programs of every interface find in their sandbox: shared memory, a loopback interface,
//! pseudo-terminals, names, and the files that describe the machine.

use crate::server::Server;
use serde_json::{Value, json};

/// Prints one word for each thing that works.
const PROGRAM: &str = "\
import asyncio, getpass, multiprocessing, os, shutil, socket

async def hello(reader, writer):
    writer.write(b'hi')
    await writer.drain()
    writer.close()

async def talk(host):
    server = await asyncio.start_server(hello, host, 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection(host, port)
    text = await reader.read()
    writer.close()
    return text.decode()

if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool:
        print(pool.map(abs, range(-2, 1)))
    print(asyncio.run(talk('127.0.0.1')), asyncio.run(talk('::1')))
    print(getpass.getuser(), socket.gethostname(), socket.gethostbyname('localhost'))
    with open('/proc/meminfo') as memory, open('/proc/cpuinfo') as cpus:
        print(int(memory.readline().split()[1]) > 1000, cpus.read(9))
    print(os.ttyname(os.openpty()[1]), shutil.disk_usage('/tmp').free > 0)
    with open('/proc/mounts') as mounts, open('/sys/devices/system/cpu/online') as cpus:
        print(' /tmp ' in mounts.read(), cpus.read(1).isdigit())
";

const EXPECTED: &str = "[2, 1, 0]\nhi hi\nmillibox millibox 127.0.0.1\nTrue processor\n\
                        /dev/pts/0 True\nTrue True\n";

fn answer(dialect: &str, path: &str, body: &Value) -> Value {
    let server = Server::start(dialect);
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let sent = agent
        .post(format!("{}{path}", server.url))
        .header("content-type", "application/json")
        .send(body.to_string());
    let text = sent.unwrap().body_mut().read_to_string().unwrap();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[test]
fn sandbox_fusion_programs_find_a_usual_machine() {
    let body = json!({"language": "python", "code": PROGRAM});
    let answer = answer("sandbox-fusion", "/run_code", &body);
    assert_eq!(answer["run_result"]["stdout"], EXPECTED, "{answer}");
}

#[test]
fn piston_programs_find_a_usual_machine() {
    let body = json!({"language": "python", "version": "*", "files": [{"content": PROGRAM}]});
    let answer = answer("piston", "/api/v2/execute", &body);
    assert_eq!(answer["run"]["stdout"], EXPECTED, "{answer}");
}

#[test]
fn judge0_programs_find_a_usual_machine() {
    let body = json!({"language_id": 71, "source_code": PROGRAM});
    let answer = answer("judge0", "/submissions?wait=true", &body);
    assert_eq!(answer["stdout"], EXPECTED, "{answer}");
}

#[test]
fn go_judge_commands_find_a_usual_machine() {
    let body = json!({"cmd": [{
        "args": ["/usr/bin/python3", "a.py"],
        "env": ["PATH=/usr/bin:/bin"],
        "files": [
            {"content": ""},
            {"name": "stdout", "max": 10_000},
            {"name": "stderr", "max": 10_000},
        ],
        "cpuLimit": 10_000_000_000_u64,
        "memoryLimit": 256 << 20,
        "procLimit": 50,
        "copyIn": {"a.py": {"content": PROGRAM}},
    }]});
    let answer = answer("go-judge", "/run", &body);
    assert_eq!(answer[0]["files"]["stdout"], EXPECTED, "{answer}");
}
