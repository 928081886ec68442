//! Several brokers of one software that are one cluster on this machine, and the faults done to one of them. Real Kafkas are
//! each broker and controller; ours are each a member of the council and a broker, as `diwan up` starts them.
//!
//! Does not know which broker leads a partition: a client asks that.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use tools_process::ports::Ports;

use crate::broker::{CLUSTER_DEADLINE, Node, kafka, start_council};
use crate::peer::diwan;
use crate::{Broker, BrokerConfig, BrokerSoftware, PeerError, Place, Server};

/// Some brokers. Their ids are 1 and the numbers that follow. Dropping it kills them all.
#[derive(Debug)]
pub struct BrokerCluster {
    brokers: Vec<Broker>,
    config: BrokerConfig,
    /// Of ours that are members of the council.
    members: Vec<Member>,
    /// That of ours, if it is none of their processes.
    council: Option<Server>,
}

/// Where brokers run, and with which variables. By default on loopback, with none.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The addresses of brokers, or their network namespaces.
    pub place: Option<Place>,
    /// Variables of each broker, the first one's first.
    pub environment: Vec<Vec<(&'static str, PathBuf)>>,
    /// Further keys of each broker's `server.properties`, the first one's first.
    pub settings: Vec<Vec<(String, String)>>,
    /// How many of Kafka's brokers, the first ones, are controllers too; all, if it is not given. Those that are none may die
    /// without a change of controllers.
    pub controllers: Option<usize>,
}

impl Surroundings {
    fn host(&self, number: usize) -> IpAddr {
        self.place.as_ref().map_or(Ipv4Addr::LOCALHOST.into(), |place| place.address(number))
    }

    /// The configuration of one broker, in a folder of its own.
    fn config(&self, config: &BrokerConfig, number: usize) -> Result<BrokerConfig, PeerError> {
        let mut own = of(config, number)?;
        own.settings.extend(self.settings.get(number - 1).into_iter().flatten().cloned());
        Ok(own)
    }

    fn command(&self, number: usize, mut command: Command) -> Command {
        command
            .envs(self.environment.get(number - 1).into_iter().flatten().map(|(name, value)| (name, value)));
        match &self.place {
            Some(place) => place.command(number, command),
            None => command,
        }
    }
}

/// Where one of ours listens.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// For clients of the council.
    council: SocketAddr,
    /// For other members of the council.
    ensemble: SocketAddr,
    /// For Kafka's clients.
    kafka: SocketAddr,
    /// For other brokers.
    brokers: SocketAddr,
}

impl BrokerCluster {
    /// Starts so many brokers, each in a folder of its own below that of `config`, and waits until all of them answer. They may
    /// not all know each other then.
    ///
    /// # Errors
    /// The files cannot be written, or a program ends or stays silent.
    pub fn start(software: &BrokerSoftware, config: &BrokerConfig, count: usize) -> Result<Self, PeerError> {
        Self::start_in(software, config, count, &Surroundings::default())
    }

    /// The same, elsewhere or otherwise. Brokers of ours beside a council of its own are on loopback, whatever is said.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_in(
        software: &BrokerSoftware,
        config: &BrokerConfig,
        count: usize,
        around: &Surroundings,
    ) -> Result<Self, PeerError> {
        let mut cluster =
            Self { brokers: Vec::new(), config: config.clone(), members: Vec::new(), council: None };
        let commands = match software {
            BrokerSoftware::Kafka(distribution) => {
                let nodes = free(count, around, |port| Ok(Node { client: port()?, controller: port()? }))?;
                let controllers = around.controllers.unwrap_or(count);
                let command = |number| {
                    kafka(distribution, &around.config(config, number)?, number, (&nodes, controllers))
                };
                let commands = (1..=count).map(command).collect::<Result<Vec<_>, _>>()?;
                nodes.iter().map(|node| node.client).zip(commands).collect::<Vec<_>>()
            }
            BrokerSoftware::Whole(binary) => {
                let members = members(count, around)?;
                let command = |number| whole(binary, &around.config(config, number)?, number, &members);
                let commands = (1..=count).map(command).collect::<Result<Vec<_>, _>>()?;
                let commands = members.iter().map(|member| member.kafka).zip(commands).collect();
                cluster.members = members;
                commands
            }
            BrokerSoftware::Diwan(binary) => {
                let members = members(count, around)?;
                let council = members[0].council;
                cluster.council = Some(start_council(binary, &config.folder, council)?);
                let command = |number: usize| {
                    let config = around.config(config, number)?;
                    Ok(beside(binary, &config, number, (&members[number - 1], council)))
                };
                let commands = (1..=count).map(command).collect::<Result<Vec<_>, PeerError>>()?;
                members.iter().map(|member| member.kafka).zip(commands).collect()
            }
        };
        for (number, (address, command)) in (1..).zip(commands) {
            let folder = folder_of(&config.folder, number);
            let command = around.command(number, command);
            cluster.brokers.push(Broker::launch(software, command, address, &folder)?);
        }
        cluster.brokers.iter_mut().try_for_each(|broker| broker.wait_until_serving(CLUSTER_DEADLINE))?;
        Ok(cluster)
    }

    /// SIGKILL, then waits until the process is gone.
    ///
    /// # Errors
    /// There is no broker of that id, or the host could not.
    pub fn kill(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.kill()
    }

    /// SIGTERM, then waits until the process is gone: it hands over what it leads.
    ///
    /// # Errors
    /// There is no broker of that id, or the host could not.
    pub fn stop(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.stop()
    }

    /// Sends SIGSTOP, then waits until all its threads are stopped; its sockets stay open.
    ///
    /// # Errors
    /// There is no broker of that id, or the host could not.
    pub fn pause(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.pause()
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// There is no broker of that id, or the host could not.
    pub fn resume(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.resume()
    }

    /// Starts a broker that was killed or stopped over what it has, and waits until it answers.
    ///
    /// # Errors
    /// There is no broker of that id, or it does not answer.
    pub fn restart(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.restart()
    }

    /// Starts a broker that was killed over what it has.
    ///
    /// # Errors
    /// There is no broker of that id, or the program cannot be started.
    pub fn launch(&mut self, id: i32) -> Result<(), PeerError> {
        self.broker(id)?.launch_again()
    }

    /// The council is killed, if it is none of the brokers' processes.
    ///
    /// # Errors
    /// There is none, or the host could not.
    pub fn kill_council(&mut self) -> Result<(), PeerError> {
        self.council()?.kill()
    }

    /// The council is started again over what it has, and answers.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub fn restart_council(&mut self) -> Result<(), PeerError> {
        self.council()?.restart()
    }

    fn council(&mut self) -> Result<&mut Server, PeerError> {
        let missing = || PeerError::Missing(String::from("the council is in the brokers' processes"));
        self.council.as_mut().ok_or_else(missing)
    }

    /// The log's data of a broker that was killed is gone. Its council's stays.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn wipe(&self, id: i32) -> Result<(), PeerError> {
        let number = usize::try_from(id).unwrap_or_default();
        let data = folder_of(&self.config.folder, number).join("data").join("log");
        fs::remove_dir_all(&data).map_err(PeerError::io(&data))
    }

    /// The broker that is the first, second or so of all has that id at its next start.
    ///
    /// # Errors
    /// Its configuration cannot be written.
    pub fn renumber(&self, number: usize, id: i32) -> Result<(), PeerError> {
        let config = of(&self.config, number)?;
        let file = config.folder.join("diwan.toml");
        fs::write(&file, configuration(&config, (number, id), &self.members)).map_err(PeerError::io(&file))
    }

    /// Whether the process of a broker has ended by itself, and its last lines then.
    ///
    /// # Errors
    /// There is no such broker.
    pub fn last_words(&mut self, id: i32) -> Result<Option<String>, PeerError> {
        let broker = self.broker(id)?;
        Ok(broker.has_ended().then(|| broker.log_tail()))
    }

    fn broker(&mut self, id: i32) -> Result<&mut Broker, PeerError> {
        let place = usize::try_from(id - 1).unwrap_or(usize::MAX);
        let broker = self.brokers.get_mut(place);
        broker.ok_or_else(|| PeerError::Missing(format!("there is no broker {id}")))
    }

    /// Where clients connect, in the order of the ids.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.brokers.iter().map(Broker::address).collect()
    }

    /// All its processes; a council is in them.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.brokers.iter().map(Broker::pid).collect()
    }

    /// The directories with data.
    #[must_use]
    pub fn data(&self) -> Vec<PathBuf> {
        (1..=self.brokers.len()).map(|number| folder_of(&self.config.folder, number).join("data")).collect()
    }

    /// The last lines of a broker that has ended by itself.
    pub fn has_ended(&mut self) -> Option<String> {
        self.brokers.iter_mut().find_map(|broker| broker.has_ended().then(|| broker.log_tail()))
    }
}

fn folder_of(folder: &Path, number: usize) -> PathBuf {
    folder.join(number.to_string())
}

/// The configuration of one broker, in a folder of its own.
fn of(config: &BrokerConfig, number: usize) -> Result<BrokerConfig, PeerError> {
    let folder = folder_of(&config.folder, number);
    fs::create_dir_all(&folder).map_err(PeerError::io(&folder))?;
    Ok(BrokerConfig { folder, ..config.clone() })
}

/// Addresses for so many, with ports that stay theirs when they are killed.
fn free<T>(
    count: usize,
    around: &Surroundings,
    one: impl Fn(&mut dyn FnMut() -> Result<SocketAddr, PeerError>) -> Result<T, PeerError>,
) -> Result<Vec<T>, PeerError> {
    let mut ports = Ports::from(None);
    let mut address = |host| {
        let port = ports.free().map_err(PeerError::io("a port"))?;
        Ok(SocketAddr::new(host, port))
    };
    (1..=count).map(|number| one(&mut || address(around.host(number)))).collect()
}

fn members(count: usize, around: &Surroundings) -> Result<Vec<Member>, PeerError> {
    free(count, around, |port| {
        Ok(Member { council: port()?, ensemble: port()?, kafka: port()?, brokers: port()? })
    })
}

/// What starts one of ours beside a council of its own.
fn beside(
    binary: &Path,
    config: &BrokerConfig,
    number: usize,
    (member, council): (&Member, SocketAddr),
) -> Command {
    let mut command = Command::new(binary);
    command.args(["log", "--metrics", "off", "--council", &council.to_string(), "--data-dir"]);
    command.arg(config.folder.join("data")).args(&config.flags);
    let own = [
        ("listeners", format!("PLAINTEXT://{}", member.kafka)),
        ("advertised.listeners", format!("PLAINTEXT://{}", member.kafka)),
        ("node.id", number.to_string()),
        ("diwan.peer.listener", member.brokers.to_string()),
        // Beside the option, since a time of sessions counts only with it.
        ("zookeeper.connect", council.to_string()),
    ];
    for (key, value) in own {
        command.arg("-D").arg(format!("{key}={value}"));
    }
    for (key, value) in &config.settings {
        command.arg("-D").arg(format!("{key}={value}"));
    }
    command
}

/// Writes the configuration of one of ours, and returns what starts it.
fn whole(
    binary: &Path,
    config: &BrokerConfig,
    number: usize,
    members: &[Member],
) -> Result<Command, PeerError> {
    let file = config.folder.join("diwan.toml");
    fs::write(&file, configuration(config, (number, number.try_into().unwrap_or(i32::MAX)), members))
        .map_err(PeerError::io(&file))?;
    let mut command = diwan::command(binary, &file);
    command.args(["-D", "metrics.listen=off", "-D", "admin.enableServer=false"]).args(&config.flags);
    Ok(command)
}

/// Of the broker at that place, counted from 1, with that id.
fn configuration(config: &BrokerConfig, (number, id): (usize, i32), members: &[Member]) -> String {
    let Member { council, kafka, brokers, .. } = members[number - 1];
    let line =
        |(number, member): (usize, &Member)| format!("\"{number}={};{}\"", member.ensemble, member.council);
    let ensemble: Vec<_> = (1..).zip(members).map(line).collect();
    let councils: Vec<_> = members.iter().map(|member| member.council.to_string()).collect();
    let mut text = format!(
        "[node]\ndata-dir = \"{}\"\n\n[council]\nlisten.client = \"{council}\"\n\n\
         [council.ensemble]\nnumber = {number}\nmembers = [{}]\n\n\
         [log]\nlisten = \"{kafka}\"\ncouncil = \"{}\"\nnode.id = {id}\n\
         diwan.peer.listener = \"{brokers}\"\n",
        config.folder.join("data").display(),
        ensemble.join(", "),
        councils.join(","),
    );
    for (key, value) in &config.settings {
        let _ = writeln!(text, "{key} = \"{value}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_of_a_member_names_the_whole_council_and_its_own_number() {
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let member = |from: u16| Member {
            council: at(from),
            ensemble: at(from + 1),
            kafka: at(from + 2),
            brokers: at(from + 3),
        };
        let config = BrokerConfig {
            users: Vec::new(),
            folder: PathBuf::from("/somewhere/2"),
            heap_mb: 0,
            settings: vec![(String::from("auto.create.topics.enable"), String::from("false"))],
            flags: Vec::new(),
        };
        let text = configuration(&config, (2, 2), &[member(10), member(20), member(30)]);
        assert!(text.contains("data-dir = \"/somewhere/2/data\"\n"), "{text}");
        assert!(text.contains("number = 2\n"), "{text}");
        let all = ["\"1=127.0.0.1:11;127.0.0.1:10\"", "\"3=127.0.0.1:31;127.0.0.1:30\""];
        assert!(all.iter().all(|member| text.contains(member)), "{text}");
        assert!(text.contains("listen = \"127.0.0.1:22\"\n") && text.contains("node.id = 2\n"), "{text}");
        assert!(text.contains("council = \"127.0.0.1:10,127.0.0.1:20,127.0.0.1:30\"\n"), "{text}");
        assert!(text.ends_with("auto.create.topics.enable = \"false\"\n"), "{text}");
    }

    #[test]
    fn addresses_of_members_are_all_different() {
        let all = free(3, &Surroundings::default(), |port| Ok([port()?, port()?])).unwrap().concat();
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (6, 6));
    }
}
