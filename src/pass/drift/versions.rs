//! Reads the newest versions of a few toggles.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use crate::model::{LiveVersion, ToggleId};
use crate::pass::runtime::Waited;
use crate::pass::{Error, PassContext, Runtime};
use crate::service::{LiveReader, ReadSession};

/// The time between looks at the reads.
const TURN: Duration = Duration::from_millis(20);

/// Reads the versions of each toggle from a number on, newest first. A toggle is absent if its versions could not be read, or
/// if the pass was stopped.
pub(super) fn versions_from(
    reader: &LiveReader,
    wanted: Vec<(ToggleId, u64)>,
    in_flight: usize,
    context: &PassContext,
    runtime: &Runtime,
) -> Result<BTreeMap<ToggleId, Vec<LiveVersion>>, Error> {
    if wanted.is_empty() || context.is_stopped() {
        return Ok(BTreeMap::new());
    }
    let session = Arc::new(ReadSession::new(reader.clone()));
    let stop = context.stop.clone();
    let task = runtime.spawn(async move {
        let reads = stream::iter(wanted)
            .map(|(id, first)| {
                let session = Arc::clone(&session);
                async move {
                    let read = session.read(|| session.reader().versions_from(&id, first));
                    let versions = read.await.ok()?;
                    Some((id, versions))
                }
            })
            .buffer_unordered(in_flight);
        tokio::select! {
            found = reads.filter_map(std::future::ready).collect() => found,
            () = crate::pass::publish::stopped(stop) => BTreeMap::new(),
        }
    });
    loop {
        match runtime.wait(&task, TURN) {
            Waited::Done(found) => return Ok(found),
            Waited::Elapsed => {}
            Waited::Cancelled => return Err(Error::Cancelled),
        }
    }
}
