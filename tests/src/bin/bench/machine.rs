//! The machine that is measured on, so that figures of two are not compared.

use std::io::Write as _;
use std::time::Duration;

use countersign_tests::measure::{Samples, wall};

use crate::report::{self, Report};

pub(crate) fn run() -> Report {
    let mut report = Report::new("The machine");
    let rows = [
        ["processor".to_owned(), processor()],
        ["processors".to_owned(), processors()],
        ["memory".to_owned(), memory()],
        ["system".to_owned(), system()],
        [
            "a `fdatasync` after 4 KiB appended to a file, µs".to_owned(),
            report::micros(&syncs()),
        ],
        [
            "SHA-256 as shipped, of 1 MiB, MiB/s".to_owned(),
            report::number(hashing()),
        ],
    ];
    report.table(["", "what there is"], &rows);
    report
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn processor() -> String {
    let name = field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into());
    let flags = field("/proc/cpuinfo", "flags").unwrap_or_default();
    let sha = flags.split(' ').any(|flag| flag == "sha_ni");
    let guest = flags.split(' ').any(|flag| flag == "hypervisor");
    format!(
        "{name}, {} SHA instructions{}",
        if sha { "with" } else { "without" },
        if guest { ", virtual" } else { "" }
    )
}

fn processors() -> String {
    std::thread::available_parallelism().map_or("unknown".into(), |count| count.to_string())
}

fn memory() -> String {
    let kib = field("/proc/meminfo", "MemTotal");
    let kib = kib.and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok());
    kib.map_or("unknown".into(), |kib| format!("{} GiB", kib >> 20))
}

fn system() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = text.trim().split('-').next().unwrap_or_default();
    format!("Linux {release}")
}

fn syncs() -> Samples {
    let mut file = tempfile::tempfile().unwrap();
    let mut samples = Samples::default();
    for _ in 0..400 {
        file.write_all(&[7; 4_096]).unwrap();
        samples.add(wall(|| file.sync_data().unwrap()).1);
    }
    samples
}

fn hashing() -> f64 {
    use sha2::{Digest as _, Sha256};
    let bytes = vec![7; 1 << 20];
    let mut samples = Samples::default();
    for _ in 0..20 {
        samples.add(wall(|| std::hint::black_box(Sha256::digest(&bytes))).1);
    }
    1.0 / samples.median().max(Duration::from_nanos(1)).as_secs_f64()
}
