//! A Diwan server under test, alone or a member of an ensemble: its configuration, its start, and the rough things done
//! to it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use tools_process::Service;

/// A server that does not serve, or does not end, within this is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server in a folder of its own, running or not.
pub(super) struct Diwan {
    binary: PathBuf,
    folder: PathBuf,
    keys: PathBuf,
    ports: ServerPorts,
    number: usize,
    form: Form,
    /// Its ensemble's members, as its configuration names them; none if it is alone.
    members: Vec<String>,
    running: Option<Service>,
}

/// How a configuration names the members of an ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// A `zoo.cfg` with two ports for each, as ZooKeeper's
    Zoo,
    /// A `zoo.cfg` with one port for each, which is what Diwan's members need
    OnePort,
    /// A `diwan.toml`, as `diwan up` writes it
    Toml,
}

impl Form {
    fn line(self, number: usize, ports: &ServerPorts) -> String {
        let ServerPorts { plain, peer, .. } = ports;
        match self {
            Form::Zoo => format!("server.{number}=127.0.0.1:{peer}:{};127.0.0.1:{plain}", peer + 1),
            Form::OnePort => format!("server.{number}=127.0.0.1:{peer};127.0.0.1:{plain}"),
            Form::Toml => format!("{number}=127.0.0.1:{peer};127.0.0.1:{plain}"),
        }
    }
}

/// Where a server listens.
#[derive(Clone, Copy)]
pub(super) struct ServerPorts {
    pub(super) plain: u16,
    pub(super) secure: u16,
    /// For other members.
    pub(super) peer: u16,
}

impl Diwan {
    /// Nothing is started yet. `number` counts from 1; `members` are all that belong together.
    pub(super) fn new(
        binary: &Path,
        (work, keys): (&Path, &Path),
        number: usize,
        members: &[ServerPorts],
        form: Form,
    ) -> anyhow::Result<Self> {
        let folder = work.join(if number == 1 { String::from("server") } else { format!("server-{number}") });
        super::fresh(&folder.join("data"))?;
        std::fs::write(folder.join("jaas.conf"), JAAS).context("cannot write `jaas.conf`")?;
        std::fs::write(folder.join("data/myid"), number.to_string()).context("cannot write `myid`")?;
        let line = |(place, ports): (usize, &ServerPorts)| form.line(place + 1, ports);
        let lines =
            if members.len() > 1 { members.iter().enumerate().map(line).collect() } else { Vec::new() };
        let (binary, keys, ports) = (binary.to_owned(), keys.to_owned(), members[number - 1]);
        Ok(Self { binary, folder, keys, ports, number, form, members: lines, running: None })
    }

    pub(super) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(super) fn ports(&self) -> ServerPorts {
        self.ports
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// A server that runs is left alone; one that is started may need others before it serves. Its configuration ends
    /// with what this start has of its own.
    pub(super) fn launch(&mut self, settings: &[&str]) -> anyhow::Result<()> {
        if self.running.as_mut().is_some_and(|service| !service.has_ended()) {
            return Ok(());
        }
        let words = self.configure(settings)?;
        let mut command = Command::new(&self.binary);
        command.arg("serve").args(words).args(["-D", "java.security.auth.login.config=jaas.conf"]);
        // Several threads for connections, however few cores there are.
        command.args(["-D", "node.shards=2"]);
        command.current_dir(&self.folder);
        self.running = Some(Service::start("the server", command, &self.log())?);
        Ok(())
    }

    /// Writes the configuration; returns the arguments of the command line that name it.
    fn configure(&self, settings: &[&str]) -> anyhow::Result<Vec<String>> {
        let common = self.configuration();
        if self.form != Form::Toml || self.members.is_empty() {
            let reconfig = if self.members.is_empty() { "" } else { "reconfigEnabled=true\n" };
            let text = format!("{common}{reconfig}{}\n{}\n", self.members.join("\n"), settings.join("\n"));
            std::fs::write(self.folder.join("zoo.cfg"), text).context("cannot write `zoo.cfg`")?;
            return Ok(["--config", "zoo.cfg"].map(String::from).to_vec());
        }
        let members: Vec<_> = self.members.iter().map(|member| format!("\"{member}\"")).collect();
        let text = format!(
            "[council.listen]\nclient = \"127.0.0.1:{}\"\n[node]\ndata-dir = \"{}/data\"\n[council.ensemble]\nnumber = {}\n\
             members = [{}]\nreconfig-enabled = true\n",
            self.ports.plain,
            self.folder.display(),
            self.number,
            members.join(", ")
        );
        std::fs::write(self.folder.join("diwan.toml"), text).context("cannot write `diwan.toml`")?;
        // Other settings that suites rely on use ZooKeeper's names.
        let said = ["dataDir=", "clientPort=", "clientPortAddress="];
        let others = common.lines().filter(|line| !said.iter().any(|key| line.starts_with(key)));
        let properties = others.chain(settings.iter().copied()).flat_map(|line| ["-D", line]);
        Ok(["--config", "diwan.toml"].into_iter().chain(properties).map(String::from).collect())
    }

    /// Returns when the server serves.
    pub(super) fn wait(&mut self) -> anyhow::Result<()> {
        let port = self.ports.plain;
        Ok(self.service()?.wait_until(PATIENCE, || serves(port))?)
    }

    /// Whether it was not ended.
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Ends it without a warning, as a power cut would.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        self.running.take().map_or(Ok(()), |mut service| Ok(service.kill()?))
    }

    /// Asks it to end.
    pub(super) fn ask_to_stop(&self) -> anyhow::Result<()> {
        self.running.as_ref().map_or(Ok(()), |service| Ok(service.ask_to_stop()?))
    }

    /// Returns when it has ended, as it was asked to.
    pub(super) fn stopped(&mut self) -> anyhow::Result<()> {
        self.running.take().map_or(Ok(()), |mut service| Ok(service.wait_until_ended(PATIENCE)?))
    }

    pub(super) fn pause(&mut self) -> anyhow::Result<()> {
        Ok(self.service()?.pause()?)
    }

    pub(super) fn resume(&mut self) -> anyhow::Result<()> {
        Ok(self.service()?.resume()?)
    }

    fn service(&mut self) -> anyhow::Result<&mut Service> {
        self.running.as_mut().context("the server is not running")
    }

    /// The same for every server under test; suites rely on it. (The digest is that of `super:secret`.)
    fn configuration(&self) -> String {
        let ServerPorts { plain, secure, .. } = self.ports;
        format!(
            "tickTime=500\n\
             dataDir={folder}/data\n\
             clientPort={plain}\n\
             clientPortAddress=127.0.0.1\n\
             secureClientPort={secure}\n\
             secureClientPortAddress=127.0.0.1\n\
             ssl.keyStore.location={keys}/server.pem\n\
             ssl.trustStore.location={keys}/ca.pem\n\
             ssl.enabledProtocols=TLSv1.2,TLSv1.3\n\
             X509AuthenticationProvider.superUser=CN=super,OU=interop,O=Diwan\n\
             authProvider.1=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n\
             superUser.1=root\n\
             maxClientCnxns=0\n\
             4lw.commands.whitelist=*\n\
             extendedTypesEnabled=true\n\
             enforceQuota=true\n\
             znode.container.checkIntervalMs=1000\n\
             admin.enableServer=false\n\
             DigestAuthenticationProvider.superDigest=super:{SUPER_DIGEST}\n",
            folder = self.folder.display(),
            keys = self.keys.display()
        )
    }
}

/// SASL's users, in the file that ZooKeeper has them in.
const JAAS: &str = "\
Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
        user_alice=\"wonder\"
        user_bob=\"builder\"
        user_root=\"toor\";
};
";

/// base64(sha1("super:secret"))
const SUPER_DIGEST: &str = "lK75jTNcA+U9vtVEw5vB51mj/w4=";

/// Whether the server serves requests: it answers `ruok` earlier than that, `srvr` names a mode only then.
fn serves(port: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"srvr")?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.lines().any(|line| line.starts_with("Mode:")))
}
