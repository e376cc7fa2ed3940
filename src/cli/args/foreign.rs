//! The words and flags of other tools, with pointers to ours.

/// Words of other tools that are not our commands, and the pointer.
const WORDS: &str = "\
check lint verify vet | `gitoggle validate` checks documents
format tidy | `gitoggle fmt` rewrites documents in one layout
compare preview dry-run what-if | `gitoggle plan` shows what would be published, and sends nothing
sync deploy publish push release update | `gitoggle apply` publishes what changed
agent daemon serve server start up watch | `gitoggle run` runs continuously
download dump export fetch pull | `gitoggle import` writes the documents of toggles that exist on the service
rollback revert undo | revert the commit with `git revert`, then publish it with `gitoggle apply`
audit history | `gitoggle log` shows what was deployed, and `git log` what was committed
get list ls show state | `gitoggle status` shows the toggles
freeze lock pause stop | `gitoggle suspend` keeps a running daemon from publishing
continue unfreeze unlock unpause unsuspend | `gitoggle resume` lets a suspended daemon publish again
kick refresh trigger | `gitoggle reconcile` requests a pass from a running daemon
approve confirm permit | `gitoggle allow` releases what a running daemon holds
create new setup | `gitoggle init` creates a starter repository
copy cp | `gitoggle promote` copies documents to another environment
eval evaluate trace why | `gitoggle explain` shows what a user is served, and why
auth login logout | there is no login: GITOGGLE_TOKEN or --token-file gives the token
completion complete | `gitoggle completions` prints the completions of a shell
manual manpage | `gitoggle man` prints the manual page
version | `gitoggle --version` prints the version";

/// Flags of other tools, the flag of ours that the pointer is about, and the pointer. If our flag is named, the pointer
/// applies only to commands that have it. The first one that applies counts.
const FLAGS: &str = "\
--json --jsonl --porcelain | --output | `-o json` prints JSON
--markdown --md | --output | `-o markdown` prints Markdown
--format --output-format -f | --output | `-o` selects the form of the result
--base --since | --from | `--from REV` compares with a revision
--branch --commit --rev --revision --sha --tag -b | --ref | `--ref` names a branch, tag or commit
--api --endpoint --host --server --service --url | --base-url | `--base-url` is the address of the service
--address --bind --port -p | --listen | `--listen ADDR:PORT` is the address of the page, the metrics and the webhooks
--chdir --dir --git --path --repository --work-tree -C -d | --repo | `--repo` names the repository
--env --environment --filter --include --project --toggle -e | --only | `--only 'PROJECT/ENVIRONMENT/*'` selects \
    toggles
--ca --cacert --cert --insecure --no-verify --skip-tls-verify -k | --ca-file | certificates are always verified; \
    `--ca-file PEM` adds an authority to trust
--api-key --password --secret --token | --token-file | a secret is never a flag, because other processes can read \
    flags: use GITOGGLE_TOKEN or `--token-file FILE`
--api-key --password --secret --token | --admin-token-file | a secret is never a flag, because other processes can \
    read flags: use GITOGGLE_ADMIN_TOKEN or `--admin-token-file FILE`
--api-key --password --secret --token | --ca-out | a secret is never a flag, because other processes can read flags: \
    use GITOGGLE_SANDBOX_TOKEN
--auto-approve --force --yes -y | --allow-mass-change | nothing asks for confirmation; `--allow-mass-change` lifts \
    the limits of one pass
--dry-run --dryrun --noop --preview --what-if -n | any | `gitoggle plan` shows what would be published, and sends \
    nothing; `gitoggle fmt --check` and `gitoggle diff` write nothing either
--continuous --daemon --follow --interval --loop --watch -w | any | `gitoggle run` runs continuously, with \
    `--poll-interval` and webhooks
--parallel --concurrency --jobs -j | --max-in-flight | `--max-in-flight` limits the requests at once
--prune --delete | --on-remove | `--on-remove` decides about removed files
--debug --trace | any | `-v` logs more, and `-vv` most
--silent -s | any | `-q` logs errors only
--no-color --no-colour | --color | `--color never`, or the variable NO_COLOR
--state --state-file | --state-dir | `--state-dir` is the folder of the state";

/// Returns the words of each line of [`WORDS`], and the pointer.
pub(super) fn words() -> impl Iterator<Item = (Vec<&'static str>, &'static str)> {
    WORDS.lines().map(|line| {
        let (words, pointer) = line.split_once(" | ").expect("every line has two columns");
        (words.split(' ').collect(), pointer)
    })
}

/// Returns the flags of each line of [`FLAGS`], our flag, and the pointer.
pub(super) fn flags() -> impl Iterator<Item = (Vec<&'static str>, Option<&'static str>, &'static str)> {
    FLAGS.lines().map(|line| {
        let mut columns = line.splitn(3, " | ");
        let mut column = || columns.next().expect("every line has three columns");
        let (flags, ours) = (column().split(' ').collect(), column());
        (flags, Some(ours).filter(|ours| *ours != "any"), column())
    })
}
