//! Uses sockets and IPC objects.

use crate::sys::*;
use std::ffi::CString;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "connect" => print_line(format!(
            "errno={}",
            errno_or_0(connect(&arguments.text(0), number(1)))
        )),
        "interfaces" => print_interfaces(),
        "serve" => serve(&arguments.text(0)),
        "listen" => {
            match listen(&arguments.text(0), number(1)) {
                Ok(_) => print_line("ready"),
                Err(errno) => print_line(format!("errno={errno}")),
            }
            sleep(number(2) as u64);
        }
        "abstract-bind" => {
            print_line(format!(
                "errno={}",
                errno_or_0(abstract_socket(&arguments.text(0), libc::SYS_bind))
            ));
            sleep(number(1) as u64);
        }
        "abstract-connect" => print_line(format!(
            "errno={}",
            errno_or_0(abstract_socket(&arguments.text(0), libc::SYS_connect))
        )),
        "ipc" => open_ipc_objects(&arguments.text(0), number(1)),
        _ => return false,
    }
    true
}

/// The address family of an IP address, and its `struct sockaddr` with a port.
fn socket_address(host: &str, port: usize) -> (usize, Vec<u8>) {
    let port = (port as u16).to_be_bytes();
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V6(ip)) => {
            let mut bytes = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
            bytes.extend(port);
            bytes.extend([0; 4]);
            bytes.extend(ip.octets());
            bytes.extend([0; 4]);
            (libc::AF_INET6 as usize, bytes)
        }
        Ok(std::net::IpAddr::V4(ip)) => {
            let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
            bytes.extend(port);
            bytes.extend(ip.octets());
            bytes.extend([0; 8]);
            (libc::AF_INET as usize, bytes)
        }
        Err(_) => exit(98),
    }
}

fn connect(host: &str, port: usize) -> Result<usize, i32> {
    let (family, bytes) = socket_address(host, port);
    let socket = syscall(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
    syscall(
        libc::SYS_connect,
        [socket, bytes.as_ptr() as usize, bytes.len()],
    )
}

fn listen(host: &str, port: usize) -> Result<usize, i32> {
    let (family, bytes) = socket_address(host, port);
    let socket = syscall(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
    syscall(
        libc::SYS_bind,
        [socket, bytes.as_ptr() as usize, bytes.len()],
    )?;
    syscall(libc::SYS_listen, [socket, 8])?;
    Ok(socket)
}

/// Connects a client process to a server process and sends five bytes.
fn serve(host: &str) {
    let exchange = || -> Result<usize, i32> {
        let server = listen(host, 4444)?;
        let child = fork()?;
        if child == 0 {
            let (family, bytes) = socket_address(host, 4444);
            let socket = syscall(libc::SYS_socket, [family, libc::SOCK_STREAM as usize, 0])?;
            syscall(
                libc::SYS_connect,
                [socket, bytes.as_ptr() as usize, bytes.len()],
            )?;
            write_all(socket, b"hello")?;
            exit(0);
        }
        let connection = syscall(libc::SYS_accept4, [server, 0, 0, 0])?;
        let mut bytes = [0u8; 5];
        let length = syscall(libc::SYS_read, [connection, bytes.as_mut_ptr() as usize, 5])?;
        wait_for(child);
        Ok(length)
    };
    match exchange() {
        Ok(length) => print_line(format!("bytes={length}\nerrno=0")),
        Err(errno) => print_line(format!("bytes=0\nerrno={errno}")),
    }
}

/// Prints the number of interfaces and the names of those that are up, by SIOCGIFNAME and
/// SIOCGIFFLAGS.
fn print_interfaces() {
    // These requests work on any socket.
    let Ok(socket) = syscall(
        libc::SYS_socket,
        [libc::AF_UNIX as usize, libc::SOCK_DGRAM as usize, 0],
    ) else {
        return print_line("errno=1");
    };
    let (mut count, mut up) = (0, Vec::new());
    for index in 1..64i32 {
        let mut request = [0u8; 40];
        request[16..20].copy_from_slice(&index.to_ne_bytes());
        if syscall(
            libc::SYS_ioctl,
            [socket, 0x8910, request.as_mut_ptr() as usize],
        )
        .is_err()
        {
            continue;
        }
        count += 1;
        let name = String::from_utf8_lossy(&request[..16])
            .trim_end_matches('\0')
            .to_owned();
        request[16..].fill(0);
        if syscall(
            libc::SYS_ioctl,
            [socket, 0x8913, request.as_mut_ptr() as usize],
        )
        .is_ok()
            && i16::from_ne_bytes([request[16], request[17]]) & 1 != 0
        {
            up.push(name);
        }
    }
    print_line(format!("count={count}\nup={}", up.join(",")));
}

/// Binds or connects a socket with an abstract name; `call` is the system call.
fn abstract_socket(name: &str, call: i64) -> Result<usize, i32> {
    let mut bytes = (libc::AF_UNIX as u16).to_ne_bytes().to_vec();
    bytes.push(0);
    bytes.extend(name.as_bytes());
    let socket = syscall(
        libc::SYS_socket,
        [libc::AF_UNIX as usize, libc::SOCK_STREAM as usize, 0],
    )?;
    syscall(call, [socket, bytes.as_ptr() as usize, bytes.len()])?;
    if call == libc::SYS_bind {
        syscall(libc::SYS_listen, [socket, 8])
    } else {
        Ok(0)
    }
}

/// Creates (`make`) or opens (`look`) one IPC object of each kind with a key.
fn open_ipc_objects(what: &str, key: usize) {
    let flags = if what == "make" {
        libc::IPC_CREAT as usize | 0o666
    } else {
        0
    };
    print_line(format!(
        "shm={}",
        errno_or_0(syscall(libc::SYS_shmget, [key, 4096, flags]))
    ));
    print_line(format!(
        "sem={}",
        errno_or_0(syscall(libc::SYS_semget, [key, 1, flags]))
    ));
    let queue = syscall(libc::SYS_msgget, [key, flags]);
    print_line(format!("msg={}", errno_or_0(queue)));
    if let (Ok(queue), "make") = (queue, what) {
        let message = [1u64, 2];
        print_line(format!(
            "msgsnd={}",
            errno_or_0(syscall(
                libc::SYS_msgsnd,
                [queue, message.as_ptr() as usize, 8, 0]
            ))
        ));
    }
    let name = CString::new(format!("millibox{key}")).unwrap_or_default();
    let open = if what == "make" {
        libc::O_CREAT | libc::O_RDWR
    } else {
        libc::O_RDWR
    } as usize;
    print_line(format!(
        "mq={}",
        errno_or_0(syscall(
            libc::SYS_mq_open,
            [name.as_ptr() as usize, open, 0o666, 0]
        ))
    ));
}
