//! A plan for people and for machines.
