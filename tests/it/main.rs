//! Tests of the built binary from outside.
