//! A bare server, the floor under others: a process of this program, so that the kernel counts its CPU time apart from the
//! load's.

use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use tools_process::Group;

/// A running one. It ends when this is dropped, or when its standard input does.
pub struct BareServer {
    process: Group,
    address: SocketAddr,
}

impl BareServer {
    /// Starts `program floor KIND`, which prints its address.
    ///
    /// # Errors
    /// It does not.
    pub fn start(program: &Path, kind: &str) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.args(["floor", kind, "127.0.0.1:0"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Group::spawn(&mut command).map_err(io::Error::other)?;
        let mut line = String::new();
        if let Some(output) = process.take_stdout() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(|_| {
            io::Error::other(format!("`{} floor` said `{}`, not its address", program.display(), line.trim()))
        })?;
        Ok(Self { process, address })
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}
