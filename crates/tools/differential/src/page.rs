//! Pages of the AdminServer: asked for over plain HTTP, compared by status and by the names in their JSON.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Asks for `/commands/NAME` and returns status line, headers and body as they came.
pub(crate) fn fetch(address: SocketAddr, name: &str, deadline: Duration) -> io::Result<String> {
    let mut socket = TcpStream::connect_timeout(&address, deadline)?;
    socket.set_read_timeout(Some(deadline))?;
    write!(socket, "GET /commands/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The comparable form: the status, and every name in the JSON. Names that are data (sessions, paths) count as one.
pub(crate) fn normal(answer: &str) -> String {
    let status = answer.split(' ').nth(1).unwrap_or("no status");
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let names: BTreeSet<&str> =
        names(body).into_iter().map(|name| if is_data(name) { "*" } else { name }).collect();
    format!("{status} {}", names.into_iter().collect::<Vec<_>>().join(" "))
}

/// Strings that a colon follows. No name of these pages holds an escaped quote.
fn names(json: &str) -> Vec<&str> {
    let parts: Vec<&str> = json.split('"').collect();
    let pairs = parts.iter().zip(parts.iter().skip(1)).enumerate();
    pairs
        .filter(|(index, (_, after))| index % 2 == 1 && after.trim_start().starts_with(':'))
        .map(|(_, (name, _))| *name)
        .collect()
}

fn is_data(name: &str) -> bool {
    name.starts_with(['/', '0']) || name.chars().all(|character| character.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn names_count_and_values_do_not() {
        let page = |body: &str| normal(&format!("HTTP/1.1 200 OK\r\nDate: x\r\n\r\n{body}"));
        assert_eq!(page(r#"{"a" : "x", "b":{"c":1}}"#), "200 a b c");
        assert_eq!(page(r#"{"a":"y","b":{"c":2}}"#), page(r#"{"a" : "x", "b":{"c":1}}"#));
        assert_ne!(page(r#"{"a":1}"#), page(r#"{"b":1}"#));
        assert_eq!(page(r#"{"0x17":["/a"],"0x18":[]}"#), "200 *");
    }
}
