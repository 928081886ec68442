//! A consumer group of KIP-848 with many members on one thread, while records come into every partition. A member dies now and then:
//! its connections close, and nothing more is heard of it.
//!
//! Each member has a connection with the coordinator, and one with the leader of each partition that it has got. It commits every
//! second, and reads on from what was committed. Every record that was acknowledged must be read, by whichever member.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_wire::Producer;

use super::group_member::{Asked, Member};
use super::leaders::leaders;
use super::poll::Sockets;
use super::requests::{ProduceRequest, count, read_fetched, read_produced};
use crate::cluster::Cluster;

/// How long the group may take until every partition is read, and at the end until all is read.
const READ_WITHIN: Duration = Duration::from_secs(90);

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The brokers, `HOST:PORT,HOST:PORT`.
    pub bootstrap: String,
    /// The topic, which must be there, and empty.
    pub topic: String,
    /// Its partitions.
    pub partitions: i32,
    /// The group.
    pub group: String,
    /// Members.
    pub members: usize,
    /// Records a second of all partitions together, each a request.
    pub per_second: f64,
    /// Bytes of a record.
    pub message_bytes: usize,
    /// After how long without a heartbeat the coordinator removes a member.
    pub session: Duration,
}

/// What came of a group.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Of each death, from the end of the session until all partitions of the dead member were read by others: zero if that was
    /// before it.
    pub again: Vec<Duration>,
    /// Records that were acknowledged, all of which were read.
    pub acknowledged: u64,
}

/// Has all members join, and after each time `settle` one of them die, so many times; a new member takes its place behind that.
///
/// # Errors
/// A connection failed, a broker refused, or a record was not read.
pub fn group(load: &Group, settle: Duration, deaths: usize) -> io::Result<Grouped> {
    let mut run = Run::start(load)?;
    let mut again = Vec::new();
    run.all_read()?;
    for number in 0..deaths {
        run.drive(Instant::now() + settle, |_| false)?;
        again.push(run.death(number % load.members)?);
        run.join(number % load.members)?;
        run.all_read()?;
    }
    Ok(Grouped { again, acknowledged: run.finish()? })
}

/// What a connection is for.
#[derive(Clone, Copy, Debug)]
enum Use {
    /// Of that member, with the coordinator.
    Member(usize),
    /// Of a member that reads a partition.
    Reads(usize, i32),
    /// With a leader, for records.
    Produces,
}

struct Run<'l> {
    load: &'l Group,
    topic_id: [u8; 16],
    coordinator: SocketAddr,
    leaders: Vec<SocketAddr>,
    sockets: Sockets,
    /// By the numbers of connections.
    uses: Vec<Use>,
    members: Vec<Member>,
    /// Connections for records, by their leaders.
    producers: BTreeMap<SocketAddr, usize>,
    request: ProduceRequest,
    /// Whose turn it is to get a record, and when.
    turn: i32,
    due: Instant,
    sent: u64,
    acknowledged: u64,
    partitions: Vec<Partition>,
    /// Ids of members that were given.
    ids: usize,
}

/// What was read of a partition.
#[derive(Clone, Copy, Debug)]
struct Partition {
    /// All before that offset.
    covered: i64,
    /// When first since a member that read it died.
    again: Option<Instant>,
    /// When last.
    at: Instant,
}

impl<'l> Run<'l> {
    fn start(load: &'l Group) -> io::Result<Self> {
        let mut cluster = Cluster::connect(&load.bootstrap, "log-load").map_err(io::Error::other)?;
        let topic = cluster.topic(&load.topic, false).map_err(io::Error::other)?;
        let leaders = leaders(&cluster, &load.topic, load.partitions)?;
        let coordinator = cluster.coordinator(&load.group).map_err(io::Error::other)?;
        let address = cluster.brokers().get(&coordinator).and_then(|at| at.parse().ok());
        let now = Instant::now();
        let mut run = Self {
            load,
            topic_id: topic.topic_id,
            coordinator: address.ok_or_else(|| io::Error::other("the group has no coordinator"))?,
            sockets: Sockets::connect_each([])?,
            uses: Vec::new(),
            members: Vec::new(),
            producers: BTreeMap::new(),
            request: ProduceRequest::new((&load.topic, 0), 1, (1, load.message_bytes), Producer::NONE),
            turn: 0,
            due: now,
            sent: 0,
            acknowledged: 0,
            partitions: vec![Partition { covered: 0, again: None, at: now }; leaders.len()],
            ids: 0,
            leaders,
        };
        for address in run.leaders.clone() {
            if !run.producers.contains_key(&address) {
                let number = run.open(address, Use::Produces)?;
                run.producers.insert(address, number);
            }
        }
        for number in 0..load.members {
            run.join(number)?;
        }
        Ok(run)
    }

    fn open(&mut self, address: SocketAddr, of: Use) -> io::Result<usize> {
        self.uses.push(of);
        self.sockets.open(address)
    }

    /// A new member takes that place.
    fn join(&mut self, place: usize) -> io::Result<()> {
        let socket = self.open(self.coordinator, Use::Member(place))?;
        self.ids += 1;
        let member = Member::new((&self.load.group, &self.load.topic), self.topic_id, self.ids, socket);
        match self.members.get_mut(place) {
            Some(old) => *old = member,
            None => self.members.push(member),
        }
        Ok(())
    }

    /// A member dies. Gives how long its partitions were not read beyond its session.
    fn death(&mut self, place: usize) -> io::Result<Duration> {
        let member = self.members.get_mut(place).ok_or(io::ErrorKind::NotFound)?;
        member.is_dead = true;
        let (heard, sockets) = (member.heard, member.sockets());
        let left: Vec<i32> = member.reads.keys().copied().collect();
        sockets.into_iter().try_for_each(|number| self.sockets.close(number))?;
        for index in &left {
            if let Some(of) = self.partitions.get_mut(*index as usize) {
                of.again = None;
            }
        }
        let again = |run: &Self| -> Option<Instant> {
            let each = left.iter().map(|index| run.partitions.get(*index as usize)?.again);
            each.collect::<Option<Vec<_>>>()?.into_iter().max()
        };
        self.drive(Instant::now() + READ_WITHIN, |run| again(run).is_some())?;
        let until = again(self).ok_or_else(|| {
            io::Error::other(format!("partitions {left:?} of a dead member are not read again"))
        })?;
        Ok(until.saturating_duration_since(heard + self.load.session))
    }

    /// Waits until each living member reads something, and all partitions are read.
    fn all_read(&mut self) -> io::Result<()> {
        let began = Instant::now();
        let is_read = |run: &Self| {
            run.partitions.iter().all(|of| of.at > began)
                && run.members.iter().all(|member| member.is_settled() && !member.reads.is_empty())
        };
        self.drive(began + READ_WITHIN, is_read)?;
        if is_read(self) {
            return Ok(());
        }
        let idle = self.members.iter().filter(|member| member.reads.is_empty()).count();
        let unread = self.partitions.iter().filter(|of| of.at <= began).count();
        let what = format!("{idle} members have nothing, and {unread} partitions are not read");
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }

    /// Waits until every record that was acknowledged is read. No more are written.
    fn finish(mut self) -> io::Result<u64> {
        let until = Instant::now() + READ_WITHIN;
        // Nothing is due any more.
        self.due = until + READ_WITHIN;
        let is_read = |run: &Self| {
            let read: i64 = run.partitions.iter().map(|of| of.covered).sum();
            run.acknowledged == run.sent && u64::try_from(read).is_ok_and(|read| read >= run.sent)
        };
        self.drive(until, is_read)?;
        if is_read(&self) {
            return Ok(self.acknowledged);
        }
        let read: i64 = self.partitions.iter().map(|of| of.covered).sum();
        let unsettled = self.members.iter().filter(|member| !member.is_settled()).count();
        let (sent, acknowledged) = (self.sent, self.acknowledged);
        Err(io::Error::other(format!(
            "of {sent} records {acknowledged} were acknowledged and {read} read by the group; {unsettled} members wait for partitions"
        )))
    }

    /// Goes on until then, or until something holds.
    fn drive(&mut self, until: Instant, is_over: impl Fn(&Self) -> bool) -> io::Result<()> {
        let mut readable = Vec::new();
        while Instant::now() < until && !is_over(self) {
            self.produce()?;
            let mut next = self.due.min(until);
            for place in 0..self.members.len() {
                next = next.min(self.tend(place)?);
            }
            self.sockets.wait(Some(next), &mut readable)?;
            for number in std::mem::take(&mut readable) {
                self.take(number)?;
            }
        }
        Ok(())
    }

    /// Writes all records that are due.
    fn produce(&mut self) -> io::Result<()> {
        while self.due <= Instant::now() {
            self.due += Duration::from_secs_f64(1.0 / self.load.per_second);
            let partition = self.turn % self.load.partitions.max(1);
            self.turn = partition + 1;
            let leader = self.leaders.get(partition as usize).ok_or(io::ErrorKind::NotFound)?;
            let number = self.producers.get(leader).copied().unwrap_or(usize::MAX);
            self.request.set_partition(partition);
            let socket = self.sockets.at(number)?;
            self.request.send(0, socket.output());
            socket.flush()?;
            self.sent += 1;
        }
        Ok(())
    }

    /// What a member has to do by itself. Gives when it has to do something next.
    fn tend(&mut self, place: usize) -> io::Result<Instant> {
        let Some(member) = self.members.get_mut(place) else { return Ok(Instant::now()) };
        let socket = member.coordinator;
        if !member.is_dead && member.speak(self.sockets.at(socket)?.output()) {
            self.sockets.at(socket)?.flush()?;
        }
        Ok(member.due())
    }

    fn take(&mut self, number: usize) -> io::Result<()> {
        match self.uses.get(number).copied() {
            Some(Use::Member(place)) => self.take_coordinator(number, place),
            Some(Use::Reads(place, partition)) => self.take_records(number, (place, partition)),
            Some(Use::Produces) => {
                while let Some(frame) = self.sockets.at(number)?.next_frame() {
                    read_produced(frame)?;
                    self.acknowledged += 1;
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn take_coordinator(&mut self, number: usize, place: usize) -> io::Result<()> {
        let mut begun = Vec::new();
        if let Some(member) = self.members.get_mut(place).filter(|member| member.coordinator == number) {
            while let Some(frame) = self.sockets.at(number)?.next_frame() {
                if let Some(Asked::Offsets(offsets)) = member.take(frame)? {
                    begun.extend(offsets);
                }
            }
            for gone in member.gone() {
                self.sockets.close(gone)?;
            }
        }
        for (partition, offset) in begun {
            let leader = *self.leaders.get(partition as usize).ok_or(io::ErrorKind::NotFound)?;
            let socket = self.open(leader, Use::Reads(place, partition))?;
            if let Some(fetch) =
                self.members.get_mut(place).and_then(|member| member.begin(partition, (socket, offset)))
            {
                fetch.send(offset, self.sockets.at(socket)?.output());
                self.sockets.at(socket)?.flush()?;
            }
        }
        Ok(())
    }

    fn take_records(&mut self, number: usize, (place, index): (usize, i32)) -> io::Result<()> {
        let Some(member) = self.members.get_mut(place) else { return Ok(()) };
        // It may have been taken away since.
        let Some(reading) = member.reads.get_mut(&index).filter(|of| of.socket == number) else {
            return Ok(());
        };
        let Some(partition) = self.partitions.get_mut(index as usize) else { return Ok(()) };
        while let Some(frame) = self.sockets.at(number)?.next_frame() {
            let out_of_range = || io::Error::other(format!("an offset of partition {index} is gone"));
            let held = count(read_fetched(frame)?.ok_or_else(out_of_range)?, |_| ());
            if reading.offset > partition.covered {
                let (from, covered) = (reading.offset, partition.covered);
                return Err(io::Error::other(format!(
                    "partition {index} is read from {from}, and records from {covered} on were not read"
                )));
            }
            if let Some(end) = held.end {
                reading.offset = end;
                partition.covered = partition.covered.max(end);
                partition.at = Instant::now();
                partition.again = partition.again.or(Some(partition.at));
            }
            let offset = reading.offset;
            let socket = self.sockets.at(number)?;
            reading.fetch.send(offset, socket.output());
            socket.flush()?;
        }
        Ok(())
    }
}
