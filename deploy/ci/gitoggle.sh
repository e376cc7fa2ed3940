#!/bin/sh
# For a CI system without a recipe. Install with `install.sh`; set GITOGGLE_BASE_URL, GITOGGLE_TOKEN, GITOGGLE_STATE_REMOTE.
#
#   gitoggle.sh plan TARGET    for a branch: prints what merging it into the branch TARGET of `origin` will publish
#   gitoggle.sh apply          for the merged commit: publishes what was reviewed, and holds the rest
#
# To decide by hand, run `apply` again with the variable DECISION = first-pass-assert, first-pass-adopt, allow-mass-change,
# ignore-windows, overwrite-drift, or history-follow. Set it for that run only.
#
# `plan` writes plan.md for the reviewer and plan.json for `apply`. Keep plan.json as an artifact of the job, and copy it to the
# job that applies, which removes it: a file of an older run is never used.
set -eu
# Not every CI system sets it. With it, the commands that are printed have the settings of this run, for a reader elsewhere.
export CI="${CI:-true}"

case "${1-} $#" in
"plan 2")
    target=$2
    rm -f plan.md plan.json
    # The plan merges the branch into its target, which needs the history of both.
    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
        git fetch --quiet --unshallow origin
    fi
    git fetch --quiet origin "+refs/heads/$target:refs/remotes/origin/$target"
    # Neither an invalid document (3) nor a hold (4) keeps the reviewer from seeing the plan.
    status=0
    gitoggle plan --pull-request --target "$target" -o json >plan.json || status=$?
    gitoggle plan --pull-request --target "$target" -o markdown >plan.md 2>/dev/null || true
    cat plan.md
    exit "$status"
    ;;
"apply 1")
    trap 'rm -f plan.json' EXIT
    case "${DECISION-}" in
    '' | none) set -- ;;
    first-pass-*) set -- --first-pass "${DECISION#first-pass-}" ;;
    history-*) set -- --history "${DECISION#history-}" ;;
    *) set -- "--$DECISION" ;;
    esac
    gitoggle apply "$@" --reviewed plan.json
    ;;
*)
    echo "usage: gitoggle.sh plan TARGET | gitoggle.sh apply" >&2
    exit 64
    ;;
esac
