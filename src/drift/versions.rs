//! Reads the newest versions of a few toggles.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};

use crate::model::{LiveVersion, ToggleId};
use crate::pass::{Error, PassContext};
use crate::service::{LiveReader, ReadSession};

/// Reads the versions of each toggle from a number on, newest first. A toggle is absent if its versions could not be
/// read, or if the pass was stopped.
pub(super) fn versions_from(
    reader: &LiveReader,
    wanted: Vec<(ToggleId, u64)>,
    in_flight: usize,
    context: &PassContext,
) -> Result<BTreeMap<ToggleId, Vec<LiveVersion>>, Error> {
    if wanted.is_empty() || context.is_stopped() {
        return Ok(BTreeMap::new());
    }
    let session = Arc::new(ReadSession::new(reader.clone()));
    let stop = context.stop.clone();
    let task = context.runtime.spawn(async move {
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
    context.runtime.finish(&task)
}
