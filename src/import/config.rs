//! What is imported, and where from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::authoring::target_folder::Existing;
use crate::document::Layout;
use crate::import::ImportScope;
use crate::model::{LiveContent, Payload, ServiceKind, ToggleId};
use crate::service::ClientConfig;

#[derive(Clone, Debug)]
pub(crate) struct ImportConfig {
    /// A folder of the work tree.
    pub repo: PathBuf,
    /// The folder of the documents, relative to the top of the work tree.
    pub root: String,
    /// The layout below the root.
    pub layout: Layout,
    /// The kind of service, which decides on the checks of documents.
    pub kind: ServiceKind,
    pub scope: ImportScope,
    /// Whether a document that exists and means something else is replaced. One that stays is reported.
    pub on_different: Existing,
    /// Where the toggles come from.
    pub from: ImportSource,
}

/// Where the toggles of an import come from.
#[derive(Clone, Debug)]
pub(crate) enum ImportSource {
    /// Toggles that differ from what was applied.
    Drifted(BTreeMap<ToggleId, DriftedImport>),
    /// The service's JSON in files below a folder.
    Folder(PathBuf),
    /// A service, with this many open requests.
    Service(ClientConfig, usize),
    /// The service's JSON in lines of the standard input.
    Stdin,
}

/// A toggle that was changed on the service since it was applied.
#[derive(Clone, Debug)]
pub(crate) struct DriftedImport {
    pub live: LiveContent,
    /// What was applied, and what the service had since then. Nobody wrote a document that means one of
    /// these, so it is replaced.
    pub earlier: Vec<Payload>,
}
