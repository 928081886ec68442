//! What `diwan up` lays out in its folder: certificates for all, and for each member its configuration, its data and
//! its log. A second run finds the same data there.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::certificates::{self, DAYS, Holder, Order};

/// Bytes of one piece of a log: less than a server's own default, for this is for trying out.
const SEGMENT_BYTES: u32 = 16 << 20;

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct UpOptions {
    pub(crate) members: Option<u8>,
    pub(crate) directory: PathBuf,
    pub(crate) host: IpAddr,
    /// The first member's; those of the others follow. 0 lets the system choose.
    pub(crate) client_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) http_port: u16,
    /// Where Kafka's clients of the first member connect; nothing if there is to be no log.
    pub(crate) log_port: Option<u16>,
    /// Where clients of objects of the first member connect; nothing if there are to be none.
    pub(crate) objects_port: Option<u16>,
    /// Where queries for names are answered by the first member; nothing if none are to be.
    pub(crate) dns_port: Option<u16>,
    pub(crate) restart: bool,
    /// Further settings of every member, as `KEY=VALUE`.
    pub(crate) properties: Vec<String>,
}

/// One member's place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) number: u64,
    pub(crate) folder: PathBuf,
    pub(crate) clients: SocketAddr,
    pub(crate) peers: SocketAddr,
    pub(crate) http: SocketAddr,
    /// Where Kafka's clients connect, if the log is served.
    pub(crate) kafka: Option<SocketAddr>,
    /// Where clients of objects connect, if they are served.
    pub(crate) objects: Option<SocketAddr>,
    /// Where queries for names are answered, if they are.
    pub(crate) names: Option<SocketAddr>,
}

/// All places, locked against a second `diwan up` as long as this value exists.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) places: Vec<Place>,
    _lock: File,
}

/// How many replicas a partition gets, if there are as many members.
const REPLICAS_MAX: usize = 3;

/// The default number of members.
const MEMBERS: u8 = 3;

impl Place {
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join("diwan.toml")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }
}

impl Layout {
    /// Makes what is missing.
    pub(crate) fn make(options: &UpOptions) -> Result<Self, String> {
        let directory = std::path::absolute(&options.directory)
            .map_err(|error| format!("there is no present directory: {error}"))?;
        let failed = |what: &str, path: &Path, error: &io::Error| {
            format!("cannot {what} `{}`: {error}\nhint: name another directory with `--dir`", path.display())
        };
        fs::create_dir_all(&directory).map_err(|error| failed("make", &directory, &error))?;
        let lock = lock(&directory)?;
        let count = count(&directory, options.members)?;
        let places = places(&directory, options, count)?;
        let missing: Vec<_> = places
            .iter()
            .filter(|place| !certificates::key_store(&store(&directory), place.number).exists())
            .map(|place| Holder { number: place.number, hosts: vec![options.host.to_string()] })
            .collect();
        if !missing.is_empty() {
            let order = Order { directory: store(&directory), members: missing, days: DAYS };
            certificates::make(&order).map_err(|failure| failure.to_string())?;
        }
        let secret = certificates::secret(&store(&directory)).map_err(|failure| failure.to_string())?;
        for place in &places {
            fs::create_dir_all(&place.folder).map_err(|error| failed("make", &place.folder, &error))?;
            let file = place.configuration();
            let text = configuration(&directory, &secret, place, &places);
            fs::write(&file, text).map_err(|error| failed("write", &file, &error))?;
        }
        Ok(Self { places, _lock: lock })
    }

    /// Where clients of all members connect.
    pub(crate) fn connection_string(&self) -> String {
        let clients: Vec<_> = self.places.iter().map(|place| place.clients.to_string()).collect();
        clients.join(",")
    }

    /// Where Kafka's clients of all members connect, if the log is served.
    pub(crate) fn bootstrap(&self) -> Option<String> {
        let kafka: Option<Vec<_>> =
            self.places.iter().map(|place| place.kafka.map(|kafka| kafka.to_string())).collect();
        kafka.map(|kafka| kafka.join(","))
    }

    /// Where clients of objects connect to the first member, if objects are served.
    pub(crate) fn objects(&self) -> Option<SocketAddr> {
        self.places.first().and_then(|place| place.objects)
    }

    /// Where the first member answers queries for names, if they are answered.
    pub(crate) fn names(&self) -> Option<SocketAddr> {
        self.places.first().and_then(|place| place.names)
    }

    /// Where all members are asked how they are.
    pub(crate) fn status_string(&self) -> String {
        let pages: Vec<_> = self.places.iter().map(|place| place.http.to_string()).collect();
        pages.join(",")
    }
}

fn store(directory: &Path) -> PathBuf {
    directory.join("certificates")
}

fn lock(directory: &Path) -> Result<File, String> {
    let path = directory.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| {
        format!("cannot write `{}`: {error}\nhint: name another directory with `--dir`", path.display())
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(_) => Err(format!(
            "another `diwan up` runs on `{}`\nhint: stop it with ctrl-c, or name another directory and other ports: \
             `--dir`, `--client-port`, `--peer-port`, `--http-port`, `--objects-port`, `--dns-port`",
            directory.display()
        )),
    }
}

/// How many members there are: as many as have data, if any have.
fn count(directory: &Path, asked: Option<u8>) -> Result<u8, String> {
    let there = (1..=u8::MAX).take_while(|number| directory.join(number.to_string()).is_dir()).count();
    let there = u8::try_from(there).unwrap_or(u8::MAX);
    match asked {
        _ if there == 0 => Ok(asked.unwrap_or(MEMBERS)),
        Some(asked) if asked != there => Err(format!(
            "`{}` holds an ensemble of {there}, and {asked} are asked for\nhint: leave out `--members` to go on with \
             it, or name another directory with `--dir`",
            directory.display()
        )),
        _ => Ok(there),
    }
}

fn places(directory: &Path, options: &UpOptions, count: u8) -> Result<Vec<Place>, String> {
    // Held until all are found, so that the system gives none twice.
    let mut held = Vec::new();
    let mut address = |first: u16, place: u8, flag: &str| {
        let port = match first {
            0 => 0,
            first => first.checked_add(u16::from(place)).ok_or_else(|| {
                format!("there are not {count} ports from {first} on\nhint: name a lower one with `{flag}`")
            })?,
        };
        let listener = TcpListener::bind((options.host, port)).map_err(|error| {
            format!(
                "cannot listen at {}: {error}\nhint: name the first of {count} free ports with `{flag}`, or 0 to have \
                 them found",
                SocketAddr::new(options.host, port)
            )
        })?;
        let found = listener.local_addr().map_err(|error| error.to_string())?;
        held.push(listener);
        Ok::<_, String>(found)
    };
    (0..count)
        .map(|place| {
            let number = u64::from(place) + 1;
            Ok(Place {
                number,
                folder: directory.join(number.to_string()),
                clients: address(options.client_port, place, "--client-port")?,
                peers: address(options.peer_port, place, "--peer-port")?,
                http: address(options.http_port, place, "--http-port")?,
                kafka: options.log_port.map(|port| address(port, place, "--log-port")).transpose()?,
                objects: options
                    .objects_port
                    .map(|port| address(port, place, "--objects-port"))
                    .transpose()?,
                names: options.dns_port.map(|port| address(port, place, "--dns-port")).transpose()?,
            })
        })
        .collect()
}

fn configuration(directory: &Path, secret: &Path, place: &Place, all: &[Place]) -> String {
    let store = store(directory);
    let quoted = |path: &Path| quoted(&path.display().to_string());
    let mut text = String::from("# Written anew by each `diwan up`.\n");
    let members: Vec<_> =
        all.iter().map(|place| format!("\"{}={};{}\"", place.number, place.peers, place.clients)).collect();
    let _ = write!(
        text,
        "[node]\ndata-dir = {}\n\n[metrics]\nlisten = \"{http}\"\n\n[admin]\nlisten = \"{http}\"\n\n\
         [council]\nlisten.client = \"{}\"\nstorage.segment-bytes = {SEGMENT_BYTES}\n\
         four-letter-words.allow = \"*\"\n\n\
         [council.ensemble]\nnumber = {}\nmembers = [{}]\ntls = true\n\
         key-store = {}\ntrust-store = {}\nsecret-file = {}\n",
        quoted(&place.data()),
        place.clients,
        place.number,
        members.join(", "),
        quoted(&certificates::key_store(&store, place.number)),
        quoted(&certificates::trust_store(&store)),
        quoted(secret),
        http = place.http,
    );
    let objects = place.objects.map_or_else(|| String::from("off"), |address| address.to_string());
    let _ = write!(text, "\n[objects]\nlisten = \"{objects}\"\n");
    if let Some(names) = place.names {
        let _ = write!(text, "\n[dns]\nlisten = \"{names}\"\n");
    }
    if let Some(kafka) = place.kafka {
        let council: Vec<_> = all.iter().map(|place| place.clients.to_string()).collect();
        let _ = write!(
            text,
            "\n[log]\nlisten = \"{kafka}\"\ncouncil = \"{}\"\nnode.id = {}\n\
             default.replication.factor = {}\n",
            council.join(","),
            place.number,
            all.len().min(REPLICAS_MAX),
        );
    }
    text
}

/// Text as TOML quotes it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Where a member's log goes on.
pub(crate) fn open_log(place: &Place) -> io::Result<File> {
    let mut log = OpenOptions::new().create(true).append(true).open(place.log())?;
    writeln!(log, "-- started by `diwan up` --")?;
    Ok(log)
}
