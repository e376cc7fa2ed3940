//! gitoggle keeps a feature-toggle service in step with a Git repository.
//!
//! A *pass* looks at the source, compares it with what was applied, plans, publishes and records. Every command is a part
//! of that one path, and the daemon is that path for ever.
//!
//! ```text
//! cli ──► config, telemetry, admin, notice, sandbox
//!  │                  │ reads status, fires the trigger
//!  ▼                  ▼
//! reconcile ◄─────────┘
//!  │   │   └───────────────┐
//!  ▼   ▼                   ▼
//! source service         state            edges: know model and transport, never each other
//!  └────┬──────────────────┘
//!       ▼
//! plan ──► document ──► model             pure: no clock, no disk, no network, no async
//! ```
//!
//! * [`model`], [`document`] and [`plan`] are pure: values in, values out. [`plan::Plan`] is complete and immutable, and
//!   [`plan::Approved`], which only its rails make, is the only key to publishing.
//! * [`transport`] is the home of TLS, proxies, secrets and Git connections; [`source`], [`service`] and [`state`] are the
//!   edges that stand on it.
//! * [`reconcile`] is the conductor, the only module that sees every edge.
//! * [`admin`] and [`notice`] are the daemon's face: they read its status and fire its trigger, and cannot write.
//! * [`sandbox`] is a service to try things with, and what the tests talk to.
//!
//! A test holds this map: who may name whom, and where each heavy dependency lives.

pub mod admin;
pub mod cli;
pub mod config;
pub mod document;
pub mod model;
pub mod notice;
pub mod plan;
pub mod reconcile;
pub mod sandbox;
pub mod service;
pub mod source;
pub mod state;
pub mod telemetry;
pub mod transport;
