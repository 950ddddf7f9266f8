//! Tells systemd that the service is ready (sd_notify(3)).

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Set by systemd for units with `Type=notify`: a path, or an abstract name after `@`.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Reports that the service works, for example that it accepts connections. Without systemd it does
/// nothing. If systemd does not receive the message, it ends the service after a timeout.
pub fn ready() {
    if let Some(name) = std::env::var_os(SOCKET) {
        let _ = send(name.as_bytes(), b"READY=1\n");
    }
}

fn send(name: &[u8], message: &[u8]) -> std::io::Result<()> {
    let address = match name {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        path => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path))?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(message, &address)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_received(receiver: &UnixDatagram) {
        let mut buffer = [0; 64];
        let length = receiver.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1\n");
    }

    #[test]
    fn message_reaches_path_and_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let receiver = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_bytes(), b"READY=1\n").unwrap();
        assert_received(&receiver);

        let name = format!("millibox-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let receiver = UnixDatagram::bind_addr(&address).unwrap();
        send(format!("@{name}").as_bytes(), b"READY=1\n").unwrap();
        assert_received(&receiver);
    }

    #[test]
    fn message_without_receiver_is_an_error() {
        send(b"/missing/notify", b"READY=1\n").unwrap_err();
    }
}
