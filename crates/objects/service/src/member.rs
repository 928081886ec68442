//! One member: its threads, put together, started and stopped.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::MemberNumber;
use net_peers::{Channel, GroupMeans, GroupNumber, PeerConnections, SharedPort};
use node_pages::Source;
use node_threads::{Clock, Mailbox, Supervisor, ThreadWaker, spawn};
use objects_replica::edge::Request;
use objects_replica::limits::COMMAND_BYTES_MAX;
use objects_replica::{FEATURE_LEVEL, peer_message_bytes_max};
use parking_lot::Mutex;

use crate::boot::Boot;
use crate::config::ObjectsConfig;
use crate::core_loop::{Links, ObjectsTurns};
use crate::edges::{EdgeAnswers, Edges};
use crate::error::{ServerFault, StartError, system};
use crate::figures::{Figures, MemberFigures};
use crate::names::NamesDesk;
use crate::shared::{CHANNEL, CoreMail, Shared};
use crate::standing::Standing;

/// The objects' group among those that share the port between members.
const GROUP: GroupNumber = GroupNumber::new(1).expect("there may be eight");
/// How long a leader that stops waits for another to lead.
const STEPPING_ASIDE_MAX: Duration = Duration::from_secs(1);

/// A running member. Dropping it stops it.
pub struct Member {
    shared: Arc<Shared>,
    core: Arc<Mailbox<CoreMail>>,
    requests: Vec<Arc<Mailbox<Request>>>,
    turns: Arc<ObjectsTurns>,
    names: Option<Arc<NamesDesk>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    port: Option<SharedPort>,
}

impl Member {
    /// Starts a member and returns at once: it serves as soon as its data is loaded and a majority is there
    /// ([`Standing::is_serving`]). `port` is that of the group whose port it shares, for one of several. Of each edge its
    /// mailbox.
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(
        config: ObjectsConfig,
        port: Option<&SharedPort>,
        edges: Vec<Arc<dyn EdgeAnswers>>,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let shared = Arc::new(Shared::new(&config, clock));
        let port = port.filter(|_| config.group.is_some());
        let (poll, waker) = match port {
            Some(_) => {
                let (poll, waker) = PeerConnections::poll().map_err(system("make a poll"))?;
                (Some(poll), waker)
            }
            None => (None, ThreadWaker::of_parking()),
        };
        let turns = ObjectsTurns::new(Arc::clone(&waker), clock);
        let end = End { standing: Arc::clone(&shared.standing), edges: edges.clone() };
        let names = config.names.clone().map(|names| Arc::new(NamesDesk::new(names, &waker)));
        let links = links(edges, names.clone(), &waker);
        let (core, requests) = (Arc::clone(&links.mail), links.edges.requests.clone());
        let peers = match port.zip(poll) {
            Some((port, poll)) => Some(connections(port, (poll, waker), &links, &shared)?),
            None => None,
        };
        let member = Self {
            core,
            requests,
            turns: Arc::clone(&turns),
            names,
            thread: Mutex::new(None),
            port: port.cloned(),
            shared: Arc::clone(&shared),
        };
        let boot = Boot::new(config, Arc::clone(&shared), turns, links, peers)?;
        let thread = spawn("objects core", &shared.supervisor, move || {
            let _end = end;
            boot.run()
        })
        .map_err(system("start a thread"))?;
        *member.thread.lock() = Some(thread);
        Ok(member)
    }

    /// Where an edge puts its requests, by edge.
    #[must_use]
    pub fn requests(&self) -> &[Arc<Mailbox<Request>>] {
        &self.requests
    }

    /// The turns of its core.
    pub(crate) const fn turns(&self) -> &Arc<ObjectsTurns> {
        &self.turns
    }

    /// Where names are looked up, if they are served.
    pub(crate) const fn names(&self) -> Option<&Arc<NamesDesk>> {
        self.names.as_ref()
    }

    /// How it stands.
    #[must_use]
    pub fn standing(&self) -> &Arc<Standing> {
        &self.shared.standing
    }

    /// Its figures.
    #[must_use]
    pub fn figures(&self) -> Arc<dyn Source> {
        Arc::new(MemberFigures {
            figures: Arc::clone(&self.shared.figures),
            journal: Arc::clone(&self.shared.journal),
            standing: Arc::clone(&self.shared.standing),
            names: self.names.clone(),
        })
    }

    /// Where edges count.
    pub(crate) fn counted(&self) -> &Arc<Figures> {
        &self.shared.figures
    }

    /// Who is to be a member, and whether it is to vote: the leader makes it so.
    pub fn want(&self, members: Vec<(MemberNumber, bool)>) {
        if self.shared.want(members) {
            self.core.put(CoreMail::Members);
        }
    }

    /// Stops: another member is to lead first; then the core and the journal end. Edges are to be stopped before.
    pub fn stop(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        self.step_aside();
        self.core.put(CoreMail::Stop);
        // A thread that panicked has been reported by the supervisor.
        let _ = thread.join();
        self.shared.supervisor.stopped();
    }

    /// Has another member lead before this one goes, so that nobody need find out that it is gone. What this member's
    /// clients have under way is answered meanwhile.
    pub fn step_aside(&self) {
        let began = Instant::now();
        while self.shared.standing.leads_others() && began.elapsed() < STEPPING_ASIDE_MAX {
            self.core.put(CoreMail::StepAside);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the member was stopped, or has to stop because of a fault.
    ///
    /// # Errors
    /// The fault.
    pub fn wait(&self) -> Result<(), ServerFault> {
        self.shared.supervisor.wait()
    }

    /// Watches the threads that belong to it.
    #[must_use]
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.shared.supervisor
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.stop();
        if let Some(port) = &self.port {
            port.further.remove(GROUP);
        }
    }
}

/// Tells edges that the core's thread has ended, however it did.
struct End {
    standing: Arc<Standing>,
    edges: Vec<Arc<dyn EdgeAnswers>>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.standing.end();
        self.edges.iter().for_each(|edge| edge.core_ended());
    }
}

/// The mailboxes around a core whose thread has this waker.
fn links(edges: Vec<Arc<dyn EdgeAnswers>>, names: Option<Arc<NamesDesk>>, waker: &Arc<ThreadWaker>) -> Links {
    let journal_waker = ThreadWaker::of_parking();
    Links {
        mail: Arc::new(Mailbox::new(Arc::clone(waker))),
        established: Arc::new(Mailbox::new(Arc::clone(waker))),
        edges: Edges::new(edges, waker),
        names,
        from_journal: Arc::new(Mailbox::new(Arc::clone(waker))),
        to_journal: Arc::new(Mailbox::new(Arc::clone(&journal_waker))),
        journal_waker,
    }
}

fn connections(
    port: &SharedPort,
    poll: (mio::Poll, Arc<ThreadWaker>),
    links: &Links,
    shared: &Shared,
) -> Result<PeerConnections, StartError> {
    let means = GroupMeans {
        group: GROUP,
        level: FEATURE_LEVEL,
        poll,
        established: Arc::clone(&links.established),
        supervisor: Arc::clone(&shared.supervisor),
    };
    let message_bytes_max = |beginning: &[u8], _| peer_message_bytes_max(beginning);
    let channel = Channel { number: CHANNEL, message_bytes_max, request_bytes_max: COMMAND_BYTES_MAX };
    port.open(means, &[channel]).map_err(system("share a poll"))
}
