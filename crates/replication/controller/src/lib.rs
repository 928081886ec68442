//! Appoints the leaders of many partitions, each a log that [`replication_appointed`] replicates.
//!
//! One node holds the role of the controller at a time, by an election elsewhere. Two nodes may hold it at once without harm:
//! a leader leads only what the configuration says, the configuration is changed by compare-and-set on its version, and an
//! epoch that was promised to one controller and not used is passed over by the next.
//!
//! [`Controller`] is a deterministic machine. It is told what happens ([`Event`]) and what people want ([`Controller::reassign`]
//! and others), with the time, and gives [`Effect`]s that its owner carries out. It remembers nothing that is not in the
//! configuration: a controller that starts reads all [`Record`]s, waits for the nodes to announce themselves, and goes on.
//!
//! # When a partition needs a leader
//! A partition needs a new leader if one of these holds:
//! - the leader's node is suspected: its connection broke, it was silent for [`Settings::silence_ms`], or it is gone. A
//!   controller that was told the time too late ([`Settings::late_ms`]) did not run itself, and counts silence from then on;
//! - the leader is known not to lead its epoch: its process restarted, or it says so;
//! - a replica has promised an epoch above that of the configuration: an attempt has begun, here or at another controller, and
//!   the leader before can no longer be relied on.
//!
//! All three are facts about one version of the configuration. Each input that can change one of them judges the partitions
//! that it concerns again, and nothing else does. A wrong guess costs time and never an entry.
//!
//! # The death of a leader
//! 1. [`Event::Broken`], or silence. The controller judges the partitions of that node.
//! 2. It picks an epoch above all that it has heard of, and asks the voters that are alive to promise it
//!    ([`Effect::SendFence`], one message for each node). It asks nobody before N - W + 1 voters are alive: a controller that
//!    reaches a minority must not disturb a leader that the others reach.
//! 3. With N - W + 1 answers it waits up to [`Settings::grace_ms`] for the other voters that are alive, and chooses the longest
//!    log; of equal ones the first of [`Record::preferred`] that is alive. A refusal makes it read the configuration and pick
//!    again.
//! 4. [`Effect::Propose`] writes the new epoch and leader if the version is still the one that was judged. One batch holds up to
//!    [`Settings::changes_max`] partitions. A batch that fails or whose answer is lost is followed by [`Effect::Read`].
//! 5. [`Effect::Tell`] tells the new leader until it reports that it leads ([`Event::Reported`]), and the other replicas once.
//!
//! If the controller crashes
//! - before step 2: nothing has happened; the next controller misses the node and begins with step 1;
//! - between 2 and 4: voters have promised an epoch that nobody uses. The next controller begins with step 1. If the leader was
//!   alive after all, it is refused by its voters or was fenced itself, and reports that it does not lead;
//! - between 4 and 5: the configuration names the leader. The next controller tells each leader what the configuration says as
//!   soon as its node announces itself, and the answer shows whether it leads.
//!
//! # The death and the return of a voter
//! A voter that is not the leader is missed only if entries need it. If fewer voters are alive than W, and the record permits it
//! ([`Record::voters_min`]), the leader is asked to go on with the voters that are alive; the others become learners and
//! [`Record::goal`] keeps what is to be restored. When they are back the goal is pursued as any other. If the leader died too, the
//! same happens with the choice, but only where W = N: then each voter has everything that was committed. So it does if the leader
//! cannot go on by itself ([`Settings::shrink_ms`]): its epoch never began, for want of the voters that are dead. A crash of the
//! controller loses nothing, because what is to be restored is in the same record that says what is missing.
//!
//! # A planned hand-over
//! 1. The leader is asked to prepare ([`Work::HandOver`]): it waits until the next leader is near the end of the log, then appends
//!    nothing for a while and waits until the disk of the next leader has everything. To one that lags nothing is handed over.
//! 2. It answers ([`Event::Prepared`]). The controller fences the voters and chooses as after a death; the logs are equal, and
//!    the next leader is preferred.
//!
//! Nothing depends on the preparation but who is chosen, so each side may die or give up at any point. A controller that crashes
//! after step 1 leaves a leader that goes on when its pause is over; after the fence it is as above.
//!
//! # A change of voters
//! [`Record::goal`] says which replicas there shall be. The next step follows from the record alone: learners are added, then the
//! voters are changed, then the lead moves if the leader is no voter any more, then the goal is removed. The first two are done
//! by the leader ([`Work::Change`]), which writes the record with the next epoch and goes on under it
//! ([`Config::chosen`](replication_appointed::Config::chosen) is false). A new controller reads the goal and takes the step that
//! is next. [`Controller::cancel`] makes the goal what there was before.
//!
//! # Duties of the owner
//! What is said of nodes here is done by `replication-node`.
//! - Effects are taken after each event ([`Controller::take_effects`]), and [`Controller::tick`] is called when
//!   [`Controller::next_deadline`] has come. Any message may be lost, doubled or late.
//! - Records that others write, a leader or another controller, are observed, late or not; after an observer was disconnected they are
//!   all read. What is missed meanwhile costs time.
//! - The owner may write [`Record::preferred`], [`Record::voters_min`] and [`Record::loss`] by compare-and-set whenever it likes. The
//!   rest is written by the controller, and by leaders that were asked to.
//! - The id of a partition is never used again. A node whose disk was emptied has another number.
//! - A node answers each [`Known`] with a [`Report`] after it has tried to lead. It answers a [`Task`] with a report if that is about
//!   another version than it knows: so the controller hears of what a leader has written.
//! - A node reports on its own, to each controller that it is connected to, when it stops leading, and repeats each report for which
//!   [`Report::needs_controller`] holds, about once a second, until it does not. A controller that fenced a follower and died may
//!   have left a leader that waits for that follower's answer and does not know why none comes.
//! - A node makes a copy only for a record that names it, with the promise of that record's epoch: it may have had a copy before,
//!   and dropped it with its promise. A node that is sent entries of an epoch above that of the record that it knows, or for a
//!   partition of which it has no copy, reads the record first.
//! - A leader that learns of a record with a higher epoch, and cannot lead that, stops leading.
//! - A leader gives up a hand-over, and the voters that it has asked for, when the task was not repeated for a few times
//!   [`Settings::resend_ms`]; a pause ends even if it is. Once it has sent the record with those voters it does not give them up by time: it sends the same
//!   again until it learns of a newer version. If that has its own epoch, the voters were never written.
//! - A node that finds [`Record::loss`] with an epoch above that of its own log, and does not lead, drops its copy and starts anew
//!   with the promise that it had: it may have entries that it knows to be committed and that are lost. A copy without
//!   entries does so too unless it has promised the epoch of the loss: the leader before may still send it such entries.
//!
//! # Invariants
//! - *Version.* A choice rests on the voters of one version of the record, and is written over that version only.
//! - *Epoch.* Each appointment has an epoch that the chosen replica and N - W + 1 voters have promised, above that of the record.
//! - *Never unclean.* With fewer than N - W + 1 answers nothing is appointed, except by [`Controller::recover_with_loss`], which marks
//!   the record.
//! - *No lost wake-up.* A partition that needs a leader, and of whose voters N - W + 1 are alive, has an answer outstanding with a
//!   deadline, or a proposal, or a read.
//! - *Idle.* A partition that has its leader and its replicas causes no work and has no deadline.
//!
//! # Not done, and what that costs
//! - Followers are told of a change once. One that misses it reads the configuration when it starts or reconnects.
//! - Leases: a voter that has granted one answers a fence when it is over. The controller waits for the answer as for any.
//! - Balance: who leads what, and which replicas there shall be, is decided elsewhere.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod acts;
mod answers;
mod appointing;
mod attempt;
mod configuration;
mod controller;
mod deadlines;
mod effect;
mod event;
mod flush;
mod ids;
mod judge;
mod nodes;
mod outbox;
mod partition;
mod record;
mod settings;
mod settled;
mod status;
mod step;

pub use acts::ActError;
pub use controller::Controller;
pub use effect::{Change, Effect, FenceRequest, Known, Task, Work};
pub use event::{Act, ActKind, Event, FenceAnswer, Promise, Report, Written};
pub use ids::{Incarnation, PartitionId, ProposalId, Version};
pub use record::{Goal, Loss, Members, Record};
pub use settings::Settings;
pub use status::{NodeStatus, Status, Waits};
