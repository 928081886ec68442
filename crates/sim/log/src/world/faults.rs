//! What strikes the brokers, their disks, the network and the council while the world is faulty.

use sim_kit::disk::Loss;

use super::LogWorld;

impl LogWorld {
    pub(super) fn faults(&mut self) {
        self.process_faults();
        self.disk_faults();
        self.network_faults();
        if self.brokers.len() > 1 {
            self.cluster_faults();
        }
        self.sim.end_fault();
    }

    fn process_faults(&mut self) {
        let often = self.setting.faults.clone();
        let now_ms = self.sim.now_ms();
        if let Some(mut chance) = self.sim.strike(often.crash) {
            let loss = [Loss::All, Loss::Nothing, Loss::Some][chance.below(3) as usize];
            let restart_at_ms = now_ms + chance.below(300);
            let at = self.any_broker(&mut chance);
            self.sim.tell("crash", format_args!("the power of broker {} fails: {loss:?} is lost", at + 1));
            self.power_fails(at, loss, restart_at_ms);
        }
        if let Some(mut chance) = self.sim.strike(often.kill) {
            let restart_at_ms = now_ms + chance.below(100);
            let at = self.any_broker(&mut chance);
            self.sim.tell("kill", format_args!("the process of broker {} is killed", at + 1));
            self.kill(at, restart_at_ms);
        }
        if let Some(mut chance) = self.sim.strike(often.pause) {
            let long_ms = chance.below(3_000);
            let at = self.any_broker(&mut chance);
            self.sim.tell("pause", format_args!("broker {} stands still for {long_ms} ms", at + 1));
            self.served.pause();
            self.history.disturbed();
            self.brokers[at].host.pause(now_ms, long_ms);
            self.brokers[at].is_apart(now_ms + long_ms);
        }
    }

    fn disk_faults(&mut self) {
        let often = self.setting.faults.clone();
        let now_ms = self.sim.now_ms();
        if let Some(mut chance) = self.sim.strike(often.stall) {
            let long_ms = chance.below(2_000);
            let at = self.any_broker(&mut chance);
            self.sim.tell(
                "disk stalled",
                format_args!("the disk of broker {} stands still for {long_ms} ms", at + 1),
            );
            self.brokers[at].host.stall_disk(now_ms + long_ms);
        }
        if let Some(mut chance) = self.sim.strike(often.full) {
            let (room, long_ms) = (chance.below(40_000), chance.below(3_000));
            let copies = chance.chance(30);
            let at = self.any_broker(&mut chance);
            self.sim.tell(
                "disk full",
                format_args!("the disk of broker {} has room for {room} bytes, for {long_ms} ms", at + 1),
            );
            self.brokers[at].host.fill_disk(room, copies, now_ms + long_ms);
        }
        if let Some(mut chance) = self.sim.strike(often.fail) {
            let (writes, after) = (chance.chance(50), chance.below(20));
            let at = self.any_broker(&mut chance);
            self.sim.tell(
                "disk failed",
                format_args!("the disk of broker {} fails after {after} (writes: {writes})", at + 1),
            );
            self.brokers[at].host.fail_disk(writes, after);
        }
    }

    fn network_faults(&mut self) {
        let often = self.setting.faults.clone();
        if let Some(mut chance) = self.sim.strike(often.cut) {
            let open = self.wires.open_ones();
            if let Some(id) = open.get(chance.below(open.len().max(1) as u64) as usize) {
                self.history.disturbed();
                self.sim.tell("connection cut", format_args!("a client's connection breaks"));
                if chance.chance(50) {
                    self.wires.lose(*id);
                }
                self.wires.cut(*id);
            }
        }
        self.council_faults();
        if let Some(mut chance) = self.sim.strike(often.remake)
            && self.operator.is_content(&self.topics)
        {
            self.operator.remake = Some(["alpha", "beta"][chance.below(2) as usize]);
        }
        if let Some(mut chance) = self.sim.strike(often.trim) {
            self.operator.trim = Some(chance.below(self.topics.partitions as u64) as i32);
        }
    }

    fn council_faults(&mut self) {
        let often = self.setting.faults.clone();
        if let Some(mut chance) = self.sim.strike(often.part) {
            let at = self.any_broker(&mut chance);
            self.brokers[at].is_apart(self.sim.now_ms());
            if let Some(process) = &mut self.brokers[at].process {
                self.history.disturbed();
                process.part(&mut self.council);
                self.sim.tell(
                    "council parted",
                    format_args!("the connection of broker {} with the council breaks", at + 1),
                );
            }
        }
        if let Some(mut chance) = self.sim.strike(often.expire) {
            let at = self.any_broker(&mut chance);
            self.brokers[at].is_apart(self.sim.now_ms());
            if let Some(process) = &mut self.brokers[at].process {
                self.history.disturbed();
                process.expire(&mut self.council);
                self.sim.tell(
                    "council expired",
                    format_args!("the session of broker {} with the council expires", at + 1),
                );
            }
        }
    }
}
