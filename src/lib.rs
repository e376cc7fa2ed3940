//! gitoggle keeps a feature-toggle service in step with a Git repository.
//!
//! A *pass* reads the source, compares it with what was applied, plans, publishes, and records. Every command is a part
//! of that one path, and the daemon repeats it.
//!
//! ```text
//! cli ──► config, telemetry, admin, notification, sandbox
//!  │                      │
//!  ▼                      ▼
//! daemon ──► pass ◄── cli (apply, plan, validate)
//!             │
//!    ┌────────┼────────┐
//!    ▼        ▼        ▼
//!  source  service   state               edges: never each other
//!    └────────┴──┬─────┘
//!                ▼
//!         git, transport
//!                ▼
//!  plan ──► document ──► model           pure: no clock, no disk, no network, no async
//! ```
//!
//! * [`model`], [`document`] and [`plan`] are pure: values in, values out. [`plan::Plan`] is complete and immutable, and
//!   [`plan::Approved`], which only its rails make, is the only key to publishing.
//! * [`transport`] has TLS, proxies, and secrets; [`git`] has remotes, objects, and URLs of Git. [`source`], [`service`]
//!   and [`state`] are the edges that stand on them.
//! * [`pass`] is the use case, the only module that sees every edge; [`daemon`] is the loop around it.
//! * [`admin`] and [`notification`] read the daemon's status and send it commands; they cannot write.
//! * [`sandbox`] is a local stand-in for the service.
//!
//! A test checks this map: which modules each module imports, and where each heavy dependency lives.

pub mod admin;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod document;
pub mod git;
pub mod model;
pub mod notification;
pub mod pass;
pub mod plan;
pub mod sandbox;
pub mod service;
pub mod source;
pub mod state;
pub mod telemetry;
pub mod transport;
