//! What a controller does, told through nodes that keep their word, a configuration with versions, and a clock.

mod acts;
mod appointing;
mod bench;
mod bounds;
mod crash;
mod nodes;
mod replicas;
