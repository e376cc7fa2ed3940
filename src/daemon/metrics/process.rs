//! Reads the metrics of the process itself at each scrape, with the names that every Prometheus client uses. Those from
//! `/proc` are absent on other systems.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::time::{ClockId, clock_gettime};

/// The process, and the time at which it started.
#[derive(Debug)]
pub(super) struct Process {
    started: SystemTime,
}

impl Process {
    /// Returns this process, which has just started.
    pub(super) fn new() -> Self {
        Self {
            // `/proc/stat`, which dates the start exactly, is hidden by `ProcSubset=pid` of systemd.
            started: SystemTime::now(),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let cpu = ConstCounter::new(cpu_seconds());
        let help = "User and system CPU time spent";
        let metric =
            encoder.encode_descriptor("process_cpu", help, Some(&Unit::Seconds), cpu.metric_type())?;
        cpu.encode(metric)?;
        let started = ConstGauge::new(started.as_secs_f64());
        let help = "Start time of the process, in seconds since 1970";
        let seconds = Some(&Unit::Seconds);
        let metric = encoder.encode_descriptor("process_start_time", help, seconds, started.metric_type())?;
        started.encode(metric)?;
        for (name, help, unit, value) in facts() {
            let Some(value) = value else { continue };
            let gauge = ConstGauge::new(value);
            let metric = encoder.encode_descriptor(name, help, unit.as_ref(), gauge.metric_type())?;
            gauge.encode(metric)?;
        }
        Ok(())
    }
}

/// Returns the CPU time of all threads, in seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "a process does not run for 2^53 seconds"
)]
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

type Fact = (&'static str, &'static str, Option<Unit>, Option<i64>);

/// Reads the numbers of the process from `/proc`.
fn facts() -> [Fact; 5] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let bytes = |line| number(&status, line).map(|kilobytes| kilobytes * 1024);
    let open = std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count);
    // The folder itself is open while it is read.
    let open = open.and_then(|count| i64::try_from(count.saturating_sub(1)).ok());
    [
        (
            "process_resident_memory",
            "Resident memory",
            Some(Unit::Bytes),
            bytes("VmRSS:"),
        ),
        (
            "process_virtual_memory",
            "Virtual memory",
            Some(Unit::Bytes),
            bytes("VmSize:"),
        ),
        ("process_open_fds", "Open file descriptors", None, open),
        (
            "process_max_fds",
            "Limit of open file descriptors",
            None,
            number(&limits, "Max open files"),
        ),
        (
            "process_threads",
            "Threads of the process",
            None,
            number(&status, "Threads:"),
        ),
    ]
}

/// Returns the first number in the line of `text` that begins with `name`; none for `unlimited`.
fn number(text: &str, name: &str) -> Option<i64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::Metrics;
    use super::*;

    #[test]
    fn the_names_are_those_of_every_prometheus_client() {
        let text = Metrics::new().encode();
        let samples = text.lines().filter(|line| line.starts_with("process_"));
        let names: Vec<&str> = samples.filter_map(|line| line.split(' ').next()).collect();
        let of_proc = [
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_open_fds",
            "process_max_fds",
            "process_threads",
        ];
        let everywhere = ["process_cpu_seconds_total", "process_start_time_seconds"];
        let expected = match cfg!(target_os = "linux") {
            true => [&everywhere[..], &of_proc].concat(),
            false => everywhere.to_vec(),
        };
        assert_eq!(names, expected, "{text}");
        assert_eq!(text.matches("# EOF").count(), 1);
    }

    #[test]
    fn cpu_time_grows_and_the_start_does_not_move() {
        let process = Process::new();
        let before = cpu_seconds();
        let busy = (0..5_000_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        assert!(cpu_seconds() > before, "{busy}");
        assert!(process.started <= SystemTime::now());
    }

    #[test]
    fn a_number_is_read_from_its_line_and_unlimited_is_none() {
        let status = "VmSize:\t  1024 kB\nVmRSS:\t     12 kB\nThreads:\t3\n";
        assert_eq!(number(status, "VmRSS:"), Some(12));
        assert_eq!(number(status, "Threads:"), Some(3));
        assert_eq!(number(status, "VmSwap:"), None);
        let limits = "Max open files            1024                 524288               files\n";
        assert_eq!(number(limits, "Max open files"), Some(1024));
        assert_eq!(
            number("Max open files unlimited unlimited files", "Max open files"),
            None
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_open_file_is_counted() {
        let open = || facts()[2].3.unwrap();
        let before = open();
        let files: Vec<_> = (0..64)
            .map(|_| std::fs::File::open("/dev/null").unwrap())
            .collect();
        // Other tests open and close files at the same time.
        assert!(open() > before + 32, "{before}");
        drop(files);
    }
}
