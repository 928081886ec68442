//! A profile's file, each price with what it is. Knows not where prices come from.

use std::fmt::Write as _;

use sim::cost::{Profile, Role};

/// The text that [`Profile::parse`] reads.
#[must_use]
pub fn text(profile: &Profile) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(profile, &mut text);
    text
}

fn write(profile: &Profile, out: &mut String) -> std::fmt::Result {
    writeln!(out, "# Written by `cargo xtask cost measure`; docs/planning.md says how each was taken.")?;
    writeln!(out, "about = {:?}", profile.about)?;
    writeln!(out, "cores = {}", profile.cores)?;
    writeln!(
        out,
        "# Between two threads that write to each other's sockets and sleep: half of there and back."
    )?;
    writeln!(out, "wake_latency_us = {:.2}", profile.wake_latency_ns as f64 / 1000.0)?;
    writeln!(
        out,
        "# Assumed; 1,400 (the scheduler's base slice for two cores) predicts the loads that prices are from a little worse."
    )?;
    writeln!(out, "slice_us = {:.1}", profile.slice_ns as f64 / 1000.0)?;
    writeln!(
        out,
        "\n[disk]\n# `fdatasync` of 4 KiB in a file filled before: quantiles of 400, evenly spaced."
    )?;
    let quantiles: Vec<_> = profile.disk.flush_us.iter().map(|us| format!("{us:.1}")).collect();
    writeln!(out, "flush_us = [{}]", quantiles.join(", "))?;
    writeln!(out, "# What `fdatasync` of 1 MiB takes beyond that, the mean of 400.")?;
    writeln!(out, "mib_per_second = {:.1}", profile.disk.mib_per_second)?;
    writeln!(out, "# Three files at once: by how much the median grows for each other one.")?;
    writeln!(out, "contention = {:.3}", profile.disk.contention)?;
    writeln!(out, "\n[network]\n# Assumed: nothing was measured between two hosts.")?;
    writeln!(out, "latency_us = {:.1}", profile.network.latency_us)?;
    writeln!(out, "gigabit_per_second = {:.1}", profile.network.gigabit_per_second)?;
    writeln!(
        out,
        "\n# Microseconds of processor time for one of each, solved from loads on real processes."
    )?;
    for role in Role::ALL {
        writeln!(out, "\n[cost.{}]", role.name())?;
        for ((name, what), price) in role.kinds().iter().zip(profile.prices(role)) {
            writeln!(out, "# {what}\n{name} = {:.4}", price / 1000.0)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let profile = Profile::named("this-machine").unwrap();
        let again = Profile::parse(&text(&profile)).unwrap();
        assert_eq!(again.disk.flush_us.len(), profile.disk.flush_us.len());
        for role in Role::ALL {
            for (one, other) in profile.prices(role).iter().zip(again.prices(role)) {
                assert!((one - other).abs() < 0.1, "{one} {other}");
            }
        }
    }
}
