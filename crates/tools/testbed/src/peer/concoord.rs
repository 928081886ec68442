//! ConCoord 1.1.0, of 2014: fetched once from PyPI, started replica by replica. It needs Python 2.7, which few machines have.
//!
//! Its replicas keep an object of ours (`concoord/lab_state.py`) in memory, and nothing on disk.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::others::{LoadProgram, Member, Others};
use crate::{Failure, PeerError, Place, Setting};

/// What is written beside it.
const SOURCES: [(&str, &str); 4] = [
    ("lab_state.py", include_str!("../../peers/concoord/lab_state.py")),
    ("lab_replica.py", include_str!("../../peers/concoord/lab_replica.py")),
    ("lab_clients.py", include_str!("../../peers/concoord/lab_clients.py")),
    ("lab_drive.py", include_str!("../../peers/concoord/lab_drive.py")),
];
/// The releases that still run on Python 2.7, and how pip finds them.
const CONCOORD: &[&str] = &["concoord==1.1.0", "--no-binary=:all:"];
const DNS: &[&str] = &["dnspython==1.16.0"];
/// Compiled, as it was meant to be; else what is in its source, which is slower.
const MESSAGES: [&[&str]; 2] = [
    &[
        "msgpack==0.6.2",
        "--only-binary=:all:",
        "--python-version=27",
        "--implementation=cp",
        "--abi=cp27mu",
        "--platform=manylinux1_x86_64",
    ],
    &["msgpack==0.6.2", "--no-binary=:all:"],
];
/// Python's own archives: it takes all that was fetched apart, into the folder that it is started in.
const UNPACK: &str = "import glob, tarfile, zipfile\n\
    for name in glob.glob('fetched/*'):\n    \
        archive = tarfile.open(name) if name.endswith('.tar.gz') else zipfile.ZipFile(name)\n    \
        archive.extractall('.')\n";
/// Written last, with all that it depends on.
const STAMP: &str = "fetched-all";
const PORT: u16 = 14_000;
/// How often its replicas are started before they are given up.
const TRIES: usize = 3;

/// Where ConCoord lies, and the Python that runs it.
#[derive(Clone, Debug)]
pub struct Package {
    python: PathBuf,
    folder: PathBuf,
}

impl Package {
    /// From `cache`, or through pip if it is not there yet.
    ///
    /// # Errors
    /// `Missing` if there is no Python 2.7, or pip cannot fetch.
    pub fn find(cache: &Path) -> Result<Self, PeerError> {
        let python =
            ["python2.7", "python2"].into_iter().find(|name| is_python_2_7(name)).ok_or_else(|| {
                PeerError::Missing("ConCoord 1.1.0 needs Python 2.7: no `python2.7` is on the path".into())
            })?;
        let python = PathBuf::from(python);
        let folder = cache.join("concoord");
        let stamp = folder.join(STAMP);
        let everything = format!("{CONCOORD:?} {DNS:?} {MESSAGES:?} {SOURCES:?}");
        if fs::read_to_string(&stamp).is_ok_and(|fetched| fetched == everything) {
            return Ok(Self { python, folder });
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(PeerError::io(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(PeerError::io(&folder))?;
        fetch(&python, &folder, CONCOORD)?;
        fetch(&python, &folder, DNS)?;
        fetch(&python, &folder, MESSAGES[0]).or_else(|_| fetch(&python, &folder, MESSAGES[1]))?;
        let unpacked = said(Command::new(&python).args(["-c", UNPACK]).current_dir(&folder));
        unpacked.map_err(|why| PeerError::Missing(format!("ConCoord cannot be unpacked: {why}")))?;
        for (name, text) in SOURCES {
            let path = folder.join(name);
            fs::write(&path, text).map_err(PeerError::io(path))?;
        }
        fs::write(&stamp, everything).map_err(PeerError::io(stamp))?;
        Ok(Self { python, folder })
    }

    /// Its release.
    #[must_use]
    pub fn version(&self) -> String {
        CONCOORD[0].replace("concoord==", "ConCoord ")
    }

    fn script(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Where Python finds what the scripts import.
    fn environment(&self) -> (&'static str, String) {
        let of = |part: &str| self.folder.join(part).display().to_string();
        ("PYTHONPATH", ["", "concoord-1.1.0", "msgpack-0.6.2"].map(of).join(":"))
    }
}

/// Whether that program is there, and of the version that ConCoord needs.
fn is_python_2_7(name: &str) -> bool {
    let version = "import sys; print('%d.%d' % sys.version_info[:2])";
    said(Command::new(name).args(["-c", version])).is_ok_and(|version| version.trim() == "2.7")
}

/// Has pip fetch one package, as it comes: any Python's pip does.
fn fetch(python: &Path, folder: &Path, package: &[&str]) -> Result<(), PeerError> {
    let mut why = String::new();
    for python in [Path::new("python3"), python] {
        let mut pip = Command::new(python);
        pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--dest", "fetched"]).args(package);
        match said(pip.current_dir(folder)) {
            Ok(_) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(PeerError::Missing(format!("pip could not fetch {}: {why}", package[0])))
}

/// What a command says, or the last line of its complaint.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let complaint = String::from_utf8_lossy(&output.stderr);
            Err(complaint.trim().lines().next_back().unwrap_or("no output").to_owned())
        }
    }
}

/// Why it cannot be set up so, if it cannot.
fn lacks(setting: &Setting) -> Option<&'static str> {
    match setting {
        Setting { servers: 1, .. } => Some("one replica of ConCoord 1.1.0 alone answers nobody"),
        Setting { observers: 1.., .. } => Some("all its replicas vote"),
        _ => None,
    }
}

/// Starts one replica after the other and waits until all take part; they do not always come that far.
///
/// # Errors
/// `Missing` if ConCoord cannot be set up so; otherwise a replica does not serve.
pub fn start(package: &Package, setting: &Setting, folder: &Path, place: &Place) -> Result<Others, Failure> {
    if let Some(why) = lacks(setting) {
        return Err(Failure::Missing(String::from(why)));
    }
    let started = || try_to_start(package, setting, folder, place);
    (1..TRIES).find_map(|_| started().ok()).map_or_else(started, Ok)
}

fn try_to_start(
    package: &Package,
    setting: &Setting,
    folder: &Path,
    place: &Place,
) -> Result<Others, Failure> {
    let client = |number| SocketAddr::new(place.address(number), PORT);
    let (python_path, path) = package.environment();
    let load = LoadProgram::new("ConCoord", &package.python, &[&package.script("lab_drive.py")]);
    let mut group = Others {
        members: Vec::new(),
        clients: (1..=setting.servers).map(client).collect(),
        load: load.with(python_path, path.clone()),
        serves,
        leads,
    };
    for number in 1..=setting.servers {
        let command = |arguments: Vec<String>| {
            let mut command = Command::new(&package.python);
            command.args(arguments).env(python_path, &path);
            place.command(number, command)
        };
        let (name, log) = (format!("ConCoord {number}"), folder.join(format!("r{number}.log")));
        let first = command(replica(package, client(number), &group.clients[..number - 1]));
        let mut member = Member::start(name, first, &log)?;
        // A replica that comes back joins those that run; the first one would start a new group.
        member.service.set_command(command(replica(package, client(number), &group.clients)));
        group.members.push(member);
        group.wait(number)?;
    }
    let mut ask = Command::new(&package.python);
    ask.args([package.script("lab_drive.py"), String::from("ask"), client(1).to_string()]);
    let answer = said(ask.env(python_path, path));
    answer.map_err(|why| Failure::broken(format!("ConCoord does not serve: {why}")))?;
    Ok(group)
}

/// The arguments of a replica that joins those that are there, if there are any.
fn replica(package: &Package, address: SocketAddr, others: &[SocketAddr]) -> Vec<String> {
    let mut arguments = vec![package.script("lab_replica.py"), String::from("replica")];
    arguments.extend(["-o", "lab_state.State", "-a"].map(String::from));
    arguments.extend([address.ip().to_string(), String::from("-p"), address.port().to_string()]);
    let others: Vec<_> = others.iter().filter(|other| **other != address).map(ToString::to_string).collect();
    if !others.is_empty() {
        arguments.extend([String::from("-b"), others.join(",")]);
    }
    arguments
}

fn serves(client: SocketAddr) -> bool {
    TcpStream::connect(client).is_ok()
}

/// The running replica with the lowest address leads.
fn leads(group: &Others, number: usize) -> bool {
    (1..=number).find(|number| group.is_up(*number)) == Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_joins_the_others_and_never_itself() {
        let package = Package { python: PathBuf::from("python2.7"), folder: PathBuf::from("/cache") };
        let address = |number: u8| SocketAddr::from(([127, 0, 0, number], PORT));
        let first = replica(&package, address(1), &[]);
        assert_eq!(first[0], "/cache/lab_replica.py");
        assert!(!first.contains(&String::from("-b")), "the first one begins: {first:?}");
        let again = replica(&package, address(1), &[1, 2, 3].map(address));
        assert_eq!(again[again.len() - 2..], ["-b", "127.0.0.2:14000,127.0.0.3:14000"].map(String::from));
    }

    #[test]
    fn what_it_cannot_do_is_told() {
        let observed = Setting { observers: 1, ..Setting::of(3) };
        assert!(lacks(&Setting::of(1)).is_some() && lacks(&observed).is_some());
        assert_eq!(lacks(&Setting::of(3)), None);
    }
}
