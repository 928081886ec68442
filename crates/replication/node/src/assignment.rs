//! One partition that the record assigns to this node: what the record says, and what the node owes for it.

use base::MonoTime;
use replication_appointed::{Diverged, Epoch, Refused, ReplicaId};
use replication_controller::{FenceAnswer, Known, Promise, Report};

use crate::copy::{Input, LogCopy};
use crate::effect::{Effect, Reply};
use crate::fences::Fences;
use crate::hand_over::HandOver;
use crate::ids::ControllerId;
use crate::outbox::Outbox;
use crate::settings::Settings;
use crate::voter_change::VoterChange;

/// See the module.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) known: Known,
    /// The copy is being made with this promise. Until it is ready nothing is done but to wait.
    pub(crate) creating: Option<Epoch>,
    /// Promises that are not durable yet.
    pub(crate) fences: Fences,
    pub(crate) change: Option<VoterChange>,
    pub(crate) hand_over: Option<HandOver>,
    /// A leader whose entries were dropped while the copy was being made, and its epoch.
    pub(crate) dropped: Option<(ReplicaId, Epoch)>,
    /// Controllers were told that this replica, which is to lead this epoch, does not.
    told_idle: Epoch,
    /// A controller has to hear the report, and hears it again then.
    report_at: Option<MonoTime>,
}

/// What every step of an assignment needs.
pub(crate) struct Context<'a> {
    pub(crate) own: ReplicaId,
    pub(crate) now: MonoTime,
    pub(crate) settings: &'a Settings,
    pub(crate) outbox: &'a mut Outbox,
}

impl Assignment {
    pub(crate) fn new(known: Known) -> Self {
        Self {
            known,
            creating: None,
            fences: Fences::default(),
            change: None,
            hand_over: None,
            dropped: None,
            told_idle: Epoch::NONE,
            report_at: None,
        }
    }

    /// A copy is made, with that promise; one that there is gives way to it.
    pub(crate) fn create(&mut self, promised: Epoch, context: &mut Context<'_>) {
        self.set_hand_over(None, context);
        (self.creating, self.change, self.report_at) = (Some(promised), None, None);
        context.outbox.push(Effect::Create { partition: self.known.partition, promised });
    }

    /// The copy is ready: what waited for it is done.
    pub(crate) fn created(&mut self, copy: &mut dyn LogCopy, context: &mut Context<'_>) {
        for (controller, epoch) in self.fences.take() {
            self.fence(controller, epoch, copy, context);
        }
        self.act_on_record(copy, context);
        if let Some((leader, epoch)) = self.dropped.take() {
            self.ask_again(leader, epoch, copy, context);
        }
        self.report(copy, None, context);
    }

    /// Leads, goes on leading, or stops, as the record says.
    pub(crate) fn act_on_record(&mut self, copy: &mut dyn LogCopy, context: &mut Context<'_>) {
        let config = &self.known.record.config;
        if config.leader == context.own && copy.lead(context.own, config).is_ok() {
            self.change = None;
            self.set_hand_over(None, context);
        } else if copy.replica().is_leading() && config.epoch > copy.replica().promised() {
            // Another leader was appointed, or this one without having promised.
            copy.apply(Input::Refused(Refused { promised: config.epoch }));
        } else if self.change.as_ref().is_some_and(|change| change.version < self.known.version) {
            // The epoch has not risen: these voters were never written, and never will be over that version.
            self.change = None;
            copy.apply(Input::GiveUpVoters);
        }
    }

    /// A controller wants that promise. It is answered once it is durable.
    pub(crate) fn fence(
        &mut self,
        controller: ControllerId,
        epoch: Epoch,
        copy: &mut dyn LogCopy,
        context: &mut Context<'_>,
    ) {
        let promise = match copy.replica().fenced(epoch) {
            Some(position) => Promise::Given(position),
            None if self.fences.has(controller, epoch) => return,
            None => match copy.fence(epoch) {
                Err(refused) => Promise::Refused(refused.promised),
                Ok(()) => return self.fences.add(controller, epoch),
            },
        };
        self.answer_fence(controller, epoch, promise, context);
    }

    /// A leader whose entries were dropped has to send again, from where this log ends. To a leader that is an answer like that
    /// of a follower which lacks what is before the entries.
    pub(crate) fn ask_again(
        &self,
        leader: ReplicaId,
        epoch: Epoch,
        copy: &dyn LogCopy,
        context: &mut Context<'_>,
    ) {
        let reply = Reply::Diverged(Diverged { epoch, common: copy.replica().log().position() });
        context.outbox.reply(leader, self.known.partition, reply);
    }

    /// Something has happened to the copy: all that follows from that, or from the time.
    pub(crate) fn follow_up(&mut self, copy: &mut dyn LogCopy, context: &mut Context<'_>) {
        self.answer_fences(copy, context);
        if let Some((leader, appended)) = copy.take_answer() {
            context.outbox.reply(leader, self.known.partition, Reply::Appended(appended));
        }
        if copy.replica().is_leading() {
            self.progress(copy, context);
            self.prepare(copy, context);
            self.find_receivers(copy, context);
        } else {
            // A leader that leads no more has nothing to change and nothing to hand over.
            self.change = None;
            self.set_hand_over(None, context);
        }
        self.report_if_needed(copy, context);
    }

    /// What its replica does is told to that controller, or to all.
    pub(crate) fn report(&self, copy: &dyn LogCopy, to: Option<ControllerId>, context: &mut Context<'_>) {
        context.outbox.report(to, Report::of(context.own, &self.known, copy.replica()));
    }

    /// Controllers hear at once of a leader that does not lead, and again and again of what may need one: a controller that has
    /// fenced a replica and died has left nobody who knows.
    fn report_if_needed(&mut self, copy: &dyn LogCopy, context: &mut Context<'_>) {
        let report = Report::of(context.own, &self.known, copy.replica());
        if !report.needs_controller(context.own, &self.known) {
            self.report_at = None;
            return;
        }
        let is_to_lead = self.known.record.config.leader == context.own;
        let is_news = is_to_lead && !copy.replica().is_leading() && self.told_idle != report.epoch;
        let is_time = self.report_at.is_some_and(|at| at <= context.now);
        if is_news || is_time {
            context.outbox.report(None, report);
        }
        if is_news {
            self.told_idle = report.epoch;
        }
        if is_news || is_time || self.report_at.is_none() {
            self.report_at = Some(context.now.plus_ms(context.settings.report_ms));
        }
    }

    /// Promises that have become durable, or that were overtaken.
    fn answer_fences(&mut self, copy: &dyn LogCopy, context: &mut Context<'_>) {
        if self.fences.is_empty() {
            return;
        }
        let promised = copy.replica().promised();
        for (controller, epoch) in self.fences.take() {
            let promise = match copy.replica().fenced(epoch) {
                Some(position) => Promise::Given(position),
                None if promised > epoch => Promise::Refused(promised),
                None => {
                    self.fences.add(controller, epoch);
                    continue;
                }
            };
            self.answer_fence(controller, epoch, promise, context);
        }
    }

    fn answer_fence(
        &self,
        controller: ControllerId,
        epoch: Epoch,
        promise: Promise,
        context: &mut Context<'_>,
    ) {
        let partition = self.known.partition;
        context.outbox.promise(controller, FenceAnswer { partition, epoch, promise });
    }

    /// Which replicas have something to be sent.
    fn find_receivers(&self, copy: &dyn LogCopy, context: &mut Context<'_>) {
        let config = &self.known.record.config;
        // Voters that are asked for are replicas already: one that is none has no disk that could catch up.
        let all = config.voters.replicas().iter().chain(&config.learners);
        for id in all.filter(|id| **id != context.own) {
            if copy.replica().next_append(*id).is_some() {
                context.outbox.send(*id, self.known.partition);
            }
        }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.known.record.config.epoch
    }

    /// When to look at it again; nothing if never.
    pub(crate) fn deadline(&self, settings: &Settings) -> Option<MonoTime> {
        let change = self.change.as_ref().map(|change| change.deadline(settings));
        let hand_over = self.hand_over.as_ref().map(HandOver::deadline);
        [change, hand_over, self.report_at].into_iter().flatten().min()
    }
}
