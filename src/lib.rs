//! gitoggle keeps a feature-toggle service in sync with a Git repository.
//!
//! A *pass* reads the source, compares it with the applied documents, plans, publishes, and records. Each command runs
//! part of a pass, and the daemon repeats it.
//!
//! ```text
//! cli ──► config, telemetry, admin, notification, sandbox, report
//!  │                      │
//!  ▼                      ▼
//! daemon ──► drift ──► pass ◄── cli (also import, authoring)
//!             │
//!    ┌────────┼────────┬────────┐
//!    ▼        ▼        ▼        ▼
//!  source  service   state    forge      edges: never import each other
//!    └────────┴──┬─────┴────────┘
//!                ▼
//!         git, transport
//!                ▼
//!  report ──► plan ──► document ──► model    pure: no clock, no disk, no network, no async
//!  evaluate ──► model
//! ```
//!
//! * [`model`], [`document`], [`evaluate`], [`plan`] and [`report`] are pure functions of their input. [`plan::Plan`] is complete and
//!   immutable.
//!   Publishing requires a [`plan::Approved`], which only the rails create.
//! * [`report`] prints results as text, Markdown, annotations, SARIF, code quality, and JUnit.
//! * [`transport`] contains TLS, proxies, and secrets; [`git`] contains Git remotes, objects, and URLs. The edges
//!   [`source`], [`service`] and [`state`] use them.
//! * [`forge`] knows the services that host repositories and run CI jobs: it finds the pull request of a job, keeps the
//!   comment of a plan on it up to date, reads the comments of merged ones, and sets the status of a commit.
//! * [`pass`] is the only module that uses every edge; [`drift`] compares the service with what passes have applied, and
//!   [`daemon`] runs both in a loop.
//! * [`authoring`] formats, promotes and creates documents in a work tree, and [`import`] writes those of toggles that exist
//!   on the service.
//! * [`admin`] and [`notification`] read the daemon's status and send it commands; they cannot publish.
//! * [`sandbox`] is a local stand-in for the service.
//!
//! A test checks this map: the imports of each module, and the modules that use each heavy dependency.

pub(crate) mod admin;
pub(crate) mod authoring;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod document;
pub mod drift;
pub(crate) mod evaluate;
pub(crate) mod forge;
pub mod git;
pub(crate) mod import;
pub mod model;
pub(crate) mod notification;
pub mod pass;
pub mod plan;
pub mod report;
pub mod sandbox;
pub mod service;
pub mod source;
pub mod state;
pub(crate) mod telemetry;
pub mod transport;
