//! Ends a transfer that is so slow that it would keep a pass open without end. The timeout of the client covers each read,
//! so a host that sends a byte at a time never exceeds it.

use std::io::{self, Read};
use std::time::{Duration, Instant};

/// The number of bytes that must arrive within a window.
const FEWEST: usize = 1024;

/// A transfer that was ended because it was too slow.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it sent only {bytes} bytes in {:.0} s", .within.as_secs_f64())]
pub struct TooSlow {
    bytes: usize,
    within: Duration,
}

/// Counts the bytes that arrive in each window of time.
#[derive(Debug)]
pub(super) struct TransferPace {
    window: Duration,
    began: Instant,
    bytes: usize,
}

impl TransferPace {
    /// For a list of refs, which arrives at once.
    pub(super) fn of_lookup(timeout: Duration) -> Self {
        Self::new(timeout)
    }

    /// For a pack. While a host prepares one, it sends only its progress, or 5 bytes every 5 s.
    pub(super) fn of_transfer(timeout: Duration) -> Self {
        Self::new(timeout * 10)
    }

    fn new(window: Duration) -> Self {
        Self {
            window,
            began: Instant::now(),
            bytes: 0,
        }
    }

    /// Counts the bytes of one read.
    pub(super) fn count(&mut self, bytes: usize) -> Result<(), TooSlow> {
        self.bytes += bytes;
        let within = self.began.elapsed();
        // The end is not slow, however few bytes came before it.
        if within < self.window || bytes == 0 {
            return Ok(());
        }
        let Self { window, bytes, .. } = *self;
        *self = Self::new(window);
        match bytes < FEWEST {
            true => Err(TooSlow { bytes, within }),
            false => Ok(()),
        }
    }
}

/// A reader that fails with [`TooSlow`].
pub(super) struct Paced<R> {
    reader: R,
    pace: TransferPace,
}

impl<R> Paced<R> {
    pub(super) fn new(reader: R, pace: TransferPace) -> Self {
        Self { reader, pace }
    }
}

impl<R: Read> Read for Paced<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.pace.count(count).map_err(io::Error::other)?;
        Ok(count)
    }
}
