//! What a leader does for controllers: it prepares a hand-over, and goes on with other voters.

use replication_controller::{Event, Task, Work};

use crate::assignment::{Assignment, Context};
use crate::copy::{Input, LogCopy};
use crate::effect::Effect;
use crate::hand_over::HandOver;
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
                let until = context.now.plus_ms(context.settings.pause_ms);
                self.set_hand_over(Some(HandOver::new(to, until)), context);
            }
            Work::Change { version, record } if leads && self.known.version == version => {
                match &mut self.change {
                    Some(change) if change.record == *record => change.prolong(context.now, context.settings),
                    // One after the other: the voters of the first may be written already.
                    Some(_) => {}
                    None => {
                        let change = VoterChange::new(version, *record, context.now, context.settings);
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

    /// Ends a pause whose time is over, and says once that the next leader has everything.
    pub(crate) fn prepare(&mut self, copy: &dyn LogCopy, context: &mut Context<'_>) {
        let Some(hand_over) = &mut self.hand_over else { return };
        if hand_over.until <= context.now {
            return self.set_hand_over(None, context);
        }
        if let Some(to) = hand_over.prepared_now(copy.replica()) {
            let (node, partition, epoch) = (context.own, self.known.partition, copy.replica().promised());
            context.outbox.inform_all(&Event::Prepared { node, partition, epoch, to });
        }
    }

    /// With a hand-over nothing is appended, and without one it is again.
    pub(crate) fn set_hand_over(&mut self, hand_over: Option<HandOver>, context: &mut Context<'_>) {
        let partition = self.known.partition;
        match (self.hand_over.is_some(), hand_over.is_some()) {
            (false, true) => context.outbox.push(Effect::Pause { partition }),
            (true, false) => context.outbox.push(Effect::Resume { partition }),
            _ => {}
        }
        self.hand_over = hand_over;
    }
}
