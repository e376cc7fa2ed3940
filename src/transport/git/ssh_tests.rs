//! Git over ssh: what is run, and what comes of it with a true `sshd` where there is one.
