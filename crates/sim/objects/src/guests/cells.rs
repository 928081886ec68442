//! What must happen in some hundred seeds to the guests: each method with each of its outcomes, by a call and by a message. What is
//! in no table must never happen.

/// What must happen.
#[rustfmt::skip]
pub(crate) const REACHED: &[&str] = &[
    "gate.add done", "gate.chain done", "gate.echo done", "gate.flood done", "gate.later done",
    "gate.pass done", "gate.send done", "gate.trap guest-trap", "gate.wait parked", "gate.yield parked",
    "message counter.increment done", "message counter.nothing no-such-method", "message gate.echo done",
    "message gate.later done", "message gate.pass no-such-object", "message gate.trap guest-trap",
    "message gate.wait parked", "message nothing.chain no-such-type", "message rogue.chain no-such-object",
    "message rogue.much done", "message rogue.refuse guest-error", "message tally.chain done",
    "message tally.chain no-such-object", "message tally.chain quarantined", "message tally.echo done",
    "message tally.echo quota", "message tally.trap guest-trap", "message tally.xor done", "message value.set done", "rogue.add done",
    "rogue.burn out-of-fuel", "rogue.chain done", "rogue.much done", "rogue.refuse guest-error",
    "rogue.send done", "rogue.trap guest-trap", "tally.add done", "tally.add quarantined", "tally.chain done",
    "tally.deep stack-exhausted", "tally.echo done", "tally.flood done", "tally.heavy out-of-memory",
    "tally.jumble guest-trap", "tally.kill done", "tally.kill quarantined", "tally.refuse guest-error",
    "tally.send done", "tally.send guest-trap", "tally.trap guest-trap", "tally.xor done",
];

/// What may happen, and is rare.
#[rustfmt::skip]
const RARE: &[&str] = &[
    "gate.add quarantined", "gate.chain quarantined", "gate.echo quarantined", "gate.flood guest-trap",
    "gate.flood quarantined", "gate.kill done", "gate.kill quarantined", "gate.later quarantined",
    "gate.pass quarantined", "gate.send guest-trap", "gate.send quarantined", "gate.trap quarantined",
    "gate.wait guest-error", "gate.wait quarantined", "gate.yield guest-error", "gate.yield quarantined", "message gate.echo no-such-object",
    "message gate.echo no-such-type", "message gate.echo quarantined", "message gate.echo quota",
    "message gate.later no-such-object", "message gate.later no-such-type", "message gate.later quarantined",
    "message gate.pass done", "message gate.pass no-such-type", "message gate.pass quarantined",
    "message gate.trap no-such-object", "message gate.trap no-such-type", "message gate.trap quarantined",
    "message gate.wait guest-error", "message gate.wait no-such-object", "message gate.wait no-such-type",
    "message gate.wait quarantined", "message rogue.chain done", "message rogue.chain no-such-type",
    "message rogue.chain quarantined", "message rogue.much no-such-object", "message rogue.much no-such-type",
    "message rogue.much quarantined", "message rogue.refuse no-such-object",
    "message rogue.refuse no-such-type", "message rogue.refuse quarantined",
    "message tally.chain no-such-type", "message tally.echo no-such-object",
    "message tally.echo no-such-type", "message tally.echo quarantined", "message tally.trap no-such-object",
    "message tally.trap no-such-type", "message tally.trap quarantined", "message tally.xor no-such-object",
    "message tally.xor no-such-type", "message tally.xor quarantined", "rogue.add quarantined",
    "rogue.burn quarantined", "rogue.chain quarantined", "rogue.flood done", "rogue.flood guest-trap",
    "rogue.flood quarantined", "rogue.kill done", "rogue.kill quarantined", "rogue.much quarantined",
    "rogue.overrun done", "rogue.overrun quarantined",
    "rogue.refuse quarantined", "rogue.send guest-trap", "rogue.send quarantined", "rogue.trap quarantined",
    "tally.chain quarantined", "tally.deep quarantined", "tally.echo quarantined", "tally.flood guest-trap",
    "tally.flood quarantined", "tally.heavy quarantined", "tally.jumble quarantined",
    "tally.refuse quarantined", "tally.send quarantined", "tally.trap quarantined", "tally.xor quarantined",
];

/// The cell of that name, if there is one.
pub(crate) fn cell(name: &str) -> Option<&'static str> {
    REACHED.iter().chain(RARE).find(|known| **known == name).copied()
}
