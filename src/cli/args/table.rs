//! The commands: names, and short and long descriptions.

use crate::config::Command;

pub(super) const COMMANDS: &[(&str, Command, &str, &str)] = &[
    (
        "validate",
        Command::Validate,
        "Check documents",
        "Checks documents: the work tree by default, a revision with --ref. A PATH inside a repository filters, a \
         folder outside one is a root. Needs no base URL, network or token.",
    ),
    (
        "test",
        Command::Test,
        "Test what users are served",
        "Tests documents: compares what they serve with the expectations in NAME.test.yaml next to NAME.yaml. Needs no \
         base URL, network or token.",
    ),
    (
        "explain",
        Command::Explain,
        "Explain what a user is served",
        "Traces one user through the rules of a toggle: which conditions match, which do not and why, and what is \
         served. Evaluates like the SDKs of FeatureProbe. Needs no base URL, network or token.",
    ),
    (
        "plan",
        Command::Plan,
        "Show what would be published, and why",
        "Shows what would be published, and why. Takes no lock and writes nothing. May contact the Git hosts, but \
         contacts the service only with --live, and needs no token otherwise. With --pull-request, or with --from, \
         compares two revisions of a local repository instead of the source with the state, and needs neither state nor \
         network.",
    ),
    (
        "apply",
        Command::Apply,
        "Make one pass, then exit",
        "Makes one complete pass, then exits: the command for CI.",
    ),
    (
        "run",
        Command::Run,
        "Run continuously, as a daemon or a sidecar",
        "Makes a pass whenever the source changes, a webhook arrives or the poll interval ends: as a daemon or a \
         sidecar.",
    ),
    (
        "status",
        Command::Status,
        "Show the state of every toggle",
        "Shows which toggles are not in sync: pending, held, failed, drifted or an orphan, and why, with the applied \
         revision. Counts all toggles; --all and -o json list them. Has no side effects, like plan.",
    ),
    (
        "drift",
        Command::Drift,
        "Show what was changed on the service",
        "Compares the service with what was last applied, and shows what differs: which toggles were changed there, by \
         whom, when and how, and what to do. Also lists toggles without a document, documents without a toggle, drafts \
         that await approval, and archived toggles. Writes nothing. Needs --service-kind featureprobe.",
    ),
    (
        "log",
        Command::Log,
        "Show what was deployed, when, and why",
        "Shows the deployment history: when each revision was applied, its subject, which toggles it changed and how, and \
         who allowed it. Each line begins with what was done: create, update and disable were published; overwrite was \
         published over a change made on the service; adopt, converge (the service had it already, as after an import) and \
         record (same meaning) were recorded without a publish; forget dropped the toggle. Reads the state only: takes no \
         lock, writes nothing, and never contacts the service.",
    ),
    (
        "import",
        Command::Import,
        "Write the documents of toggles that exist on the service",
        "Writes the documents of toggles that exist on the service into the work tree of --repo, in canonical form, at \
         the path that the layout gives: everything that the token can read, or the toggles that a GLOB over \
         project/environment/toggle matches. Commits nothing. A document that means the same stays as it is; one that \
         means something else stays too, unless --overwrite is given, and does not change the exit code. Run it again \
         to continue after an interruption. Needs --service-kind featureprobe, or --from.",
    ),
    (
        "fmt",
        Command::Fmt,
        "Rewrite documents in one layout",
        "Rewrites the documents of a work tree in one canonical layout, that of import. Keeps every comment, and leaves \
         the meaning and the spelling of scalars as they are. Invalid documents and other files stay as they are.",
    ),
    (
        "diff",
        Command::Diff,
        "Compare two environments",
        "Compares two environments of a work tree, toggle by toggle: what would change for users of A if it had the \
         documents of B.",
    ),
    (
        "promote",
        Command::Promote,
        "Copy documents to another environment",
        "Copies the documents of FROM to TO in a work tree, comments included, and shows what changes. A document is \
         replaced only by one of the same toggle; toggles that only TO has stay. Commits nothing.",
    ),
    (
        "init",
        Command::Init,
        "Create a starter repository",
        "Creates a repository with one toggle, its test, editor settings, a CI workflow, a CODEOWNERS skeleton and a \
         pre-commit configuration. Replaces no file, and commits nothing.",
    ),
    (
        "allow",
        Command::Allow,
        "Release what a running daemon holds",
        "Releases the toggles that a rail or a first pass holds in one environment of a running daemon, without a \
         restart, and prints them. The decision is valid once, for one revision, and is recorded with the caller and \
         the time. history lets the daemon continue from a revision that does not descend from the recorded one.",
    ),
    (
        "suspend",
        Command::Suspend,
        "Keep a running daemon from publishing",
        "Keeps a running daemon from publishing, either all toggles or those that a glob over \
         project/environment/toggle matches. Planning continues. Survives a restart of the daemon.",
    ),
    (
        "resume",
        Command::Resume,
        "Let a suspended daemon publish again",
        "Ends the suspensions of a running daemon: all of them, or the one with the same globs.",
    ),
    (
        "reconcile",
        Command::Reconcile,
        "Request a pass from a running daemon",
        "Requests a pass from a running daemon. The pass also retries refused toggles.",
    ),
    (
        "schema",
        Command::Schema,
        "Print the JSON Schema of a document or an output",
        "Prints the JSON Schema of a document, for editors, or of what a command prints with -o json.",
    ),
    (
        "sandbox",
        Command::Sandbox,
        "Serve a local toggle service for experiments",
        "Serves a local toggle service with the documented endpoint, over HTTPS, for experiments and tests. \
         It accepts the token in GITOGGLE_SANDBOX_TOKEN, by default sandbox-token. With --service-kind featureprobe, \
         it answers as FeatureProbe does, reads included, and keeps everything in memory. It starts with a sample, or \
         with the projects in the --data file: {\"projects\": [{\"key\", \"environments\": [{\"key\"}], \"segments\": \
         [{\"key\", \"rules\"}], \"toggles\": [{\"key\", \"returnType\", \"variations\", \"targeting\": {ENVIRONMENT: \
         {\"comment\", \"disabled\", \"content\"}}}]}]}.",
    ),
    (
        "completions",
        Command::Completions,
        "Print the completions of a shell",
        "Prints the completions of bash, elvish, fish, powershell or zsh: commands, flags and the words of choices.",
    ),
    (
        "man",
        Command::Man,
        "Print the manual page",
        "Prints the manual page of the program, or of a command. With --out, writes the pages of the program and of all \
         commands, as packages need them.",
    ),
    (
        "demo",
        Command::Demo,
        "Watch the whole loop on this machine",
        "Creates a sample repository, serves the sandbox and makes several passes, all on loopback and in one \
         process. Prints each step.",
    ),
];
