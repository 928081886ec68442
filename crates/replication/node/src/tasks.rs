//! What a leader does for controllers: it prepares a hand-over, and goes on with other voters.

use replication_controller::{Event, Task, Work};

use crate::assignment::{Assignment, Context};
use crate::copy::{Input, LogCopy};
use crate::effect::Effect;
use crate::hand_over::{self, HandOver};
use crate::ids::ControllerId;
use crate::voter_change::{Next, VoterChange};

impl Assignment {
    /// A controller asks for something. If this replica does not lead that epoch, or knows another version of the record, the
    /// controller is told what it does.
    pub(crate) fn take_task(
        &mut self,
        from: ControllerId,
        task: Task,
        copy: &mut dyn LogCopy,
        context: &mut Context<'_>,
    ) {
        let leads = copy.replica().is_leading() && copy.replica().promised() == task.epoch;
        match task.work {
            Work::HandOver { to } if leads => {
                let (now, settings) = (context.now, context.settings);
                match self.hand_over.as_mut().filter(|known| known.to() == to) {
                    Some(known) => known.prolong(now, settings),
                    None => {
                        let new = HandOver::new(to, copy.replica(), now, settings);
                        self.set_hand_over(Some(new), context);
                    }
                }
            }
            Work::Change { version, record } if leads && self.known.version == version => {
                match &mut self.change {
                    Some(change) if change.record == *record => change.prolong(context.now, context.settings),
                    // One after the other: the voters of the first may be written already.
                    Some(_) => {}
                    None => {
                        let (now, settings) = (context.now, context.settings);
                        let change = VoterChange::new((version, *record), copy.replica(), now, settings);
                        self.change = Some(change);
                    }
                }
            }
            _ => self.report(copy, Some(from), context),
        }
    }

    /// Does what the change of voters needs next.
    pub(crate) fn progress(&mut self, copy: &mut dyn LogCopy, context: &mut Context<'_>) {
        while let Some(change) = &mut self.change {
            match change.next(self.known.partition, copy.replica(), context.now, context.settings) {
                None => return,
                Some(Next::Count(voters)) => copy.apply(Input::AskForVoters(voters)),
                Some(Next::Write(change)) => context.outbox.push(Effect::Write(change)),
                Some(Next::GiveUp) => {
                    self.change = None;
                    copy.apply(Input::GiveUpVoters);
                }
            }
        }
    }

    /// Does what the hand-over needs next.
    pub(crate) fn prepare(&mut self, copy: &dyn LogCopy, context: &mut Context<'_>) {
        let (partition, node) = (self.known.partition, context.own);
        while let Some(known) = &mut self.hand_over {
            let to = known.to();
            let failed = |behind| Effect::NotHandedOver { partition, to, behind };
            match known.next(copy.replica(), context.now, context.settings) {
                None => return,
                Some(hand_over::Next::Pause) => context.outbox.push(Effect::Pause { partition }),
                Some(hand_over::Next::Tell) => {
                    let epoch = copy.replica().promised();
                    context.outbox.inform_all(&Event::Prepared { node, partition, epoch, to });
                }
                Some(hand_over::Next::Resume(told)) => {
                    context.outbox.push(Effect::Resume { partition });
                    told.into_iter().for_each(|behind| context.outbox.push(failed(behind)));
                }
                Some(hand_over::Next::End(told)) => {
                    told.into_iter().for_each(|behind| context.outbox.push(failed(behind)));
                    self.hand_over = None;
                }
            }
        }
    }

    /// One hand-over gives way to another, or to none. A pause ends with it.
    pub(crate) fn set_hand_over(&mut self, hand_over: Option<HandOver>, context: &mut Context<'_>) {
        if self.hand_over.as_ref().is_some_and(HandOver::pauses) {
            context.outbox.push(Effect::Resume { partition: self.known.partition });
        }
        self.hand_over = hand_over;
    }
}
