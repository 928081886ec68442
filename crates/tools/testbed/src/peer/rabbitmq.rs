//! RabbitMQ with its Erlang, from Debian's packages: fetched once by apt and unpacked into a folder, so that nothing is
//! installed and no root is needed.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::debian;
use crate::PeerError;

/// What is fetched: the server, and the parts of Erlang that it needs.
const PACKAGES: [&str; 15] = [
    "rabbitmq-server",
    "erlang-asn1",
    "erlang-base",
    "erlang-crypto",
    "erlang-eldap",
    "erlang-inets",
    "erlang-mnesia",
    "erlang-os-mon",
    "erlang-parsetools",
    "erlang-public-key",
    "erlang-runtime-tools",
    "erlang-ssl",
    "erlang-syntax-tools",
    "erlang-tools",
    "erlang-xmerl",
];
/// Written last.
const STAMP: &str = "unpacked";
/// Where Erlang's scripts look for the rest of it.
const ERLANG: &str = "/usr/lib/erlang";

/// An unpacked RabbitMQ.
#[derive(Clone, Debug)]
pub struct Package {
    root: PathBuf,
    /// The folder of its scripts.
    scripts: PathBuf,
}

impl Package {
    /// From `cache`, or through apt if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no apt, or it has no such packages.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        let folder = cache.join("rabbitmq");
        let root = folder.join("root");
        let stamp = folder.join(STAMP);
        // Its scripts name the folder: one that was moved is unpacked again.
        let place = root.display().to_string();
        if fs::read_to_string(&stamp).is_ok_and(|unpacked| unpacked == place) {
            return Self::of(root);
        }
        debian::unpack("RabbitMQ", &PACKAGES, &folder, &root)?;
        let script = root.join("usr/lib/erlang/bin/erl");
        let text = fs::read_to_string(&script).map_err(PeerError::io(&script))?;
        let text = text.replace(ERLANG, &root.join("usr/lib/erlang").display().to_string());
        fs::write(&script, text).map_err(PeerError::io(script))?;
        fs::write(&stamp, place).map_err(PeerError::io(stamp))?;
        Self::of(root)
    }

    fn of(root: PathBuf) -> Result<Self, PeerError> {
        let all = root.join("usr/lib/rabbitmq/lib");
        let entries = fs::read_dir(&all).map_err(PeerError::io(&all))?.flatten();
        let server = entries.map(|entry| entry.path()).find(|path| path.join("sbin").is_dir());
        let scripts = server.map(|path| path.join("sbin"));
        let scripts =
            scripts.ok_or_else(|| PeerError::Missing("Debian's package has no RabbitMQ in it".into()))?;
        Ok(Self { root, scripts })
    }

    /// The release.
    #[must_use]
    pub fn version(&self) -> String {
        let folder = self.scripts.parent().and_then(Path::file_name).unwrap_or_default();
        format!("RabbitMQ {}", folder.to_string_lossy().replace("rabbitmq_server-", ""))
    }

    /// Erlang's daemon for names, in the foreground: one of our own, which ends with everything else.
    #[must_use]
    pub fn names(&self, port: u16) -> Command {
        let mut command = Command::new(self.root.join("usr/lib/erlang/bin/epmd"));
        command.args(["-port", &port.to_string(), "-address", "127.0.0.1"]);
        command
    }

    /// What runs a server with all its files in `folder`, its messages in `folder/data`; `names` is the port of
    /// [`Package::names`].
    ///
    /// # Errors
    /// Its configuration cannot be written.
    pub fn server(
        &self,
        folder: &Path,
        address: SocketAddr,
        names: u16,
        others: u16,
    ) -> Result<Command, PeerError> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).map_err(PeerError::io(&path)).map(|()| path)
        };
        let config = write("rabbitmq.conf", format!("listeners.tcp.local = {address}\n"))?;
        let plugins = write("plugins", String::from("[].\n"))?;
        let erlang = self.root.join("usr/lib/erlang/bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(self.scripts.join("rabbitmq-server"));
        command
            .env("PATH", format!("{}:{path}", erlang.display()))
            .env("HOME", folder)
            .env("ERL_EPMD_PORT", names.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", "lab@localhost")
            .env("RABBITMQ_CONFIG_FILE", config)
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins)
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_LOG_BASE", folder.join("logs"))
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_DIST_PORT", others.to_string())
            .current_dir(folder);
        Ok(command)
    }
}
