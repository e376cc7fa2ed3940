#!/bin/sh
# For a CI system without a recipe. `install.sh` installs gitoggle.
#
#   gitoggle.sh plan TARGET    for a branch: prints what it changes, compared with the branch TARGET of `origin`
#   gitoggle.sh apply          for the merged commit: applies the plan, if it is still the one that was reviewed
#
# `plan` writes plan.md for the reviewer and digest.txt for `apply`. Keep digest.txt as an artifact of the job, and copy it
# to the job that applies. It proves that the plan did not change in between, as far as your artifacts cannot be replaced.
#
# The other settings are variables: GITOGGLE_BASE_URL, GITOGGLE_TOKEN, GITOGGLE_STATE_REMOTE.
set -eu

case "${1-} $#" in
"plan 2")
    target=$2
    # The plan merges the branch into its target, which needs the history of both.
    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
        git fetch --quiet --unshallow origin
    fi
    git fetch --quiet origin "+refs/heads/$target:refs/remotes/origin/$target"
    # Neither an invalid document (3) nor a hold (4) keeps the reviewer from seeing the plan.
    status=0
    gitoggle plan --pull-request --target "$target" -o markdown >plan.md || status=$?
    cat plan.md
    gitoggle plan --pull-request --target "$target" -o json >plan.json || true
    sed -n 's/^ *"digest": "\(sha256:[0-9a-f]*\)",*$/\1/p' plan.json >digest.txt
    exit "$status"
    ;;
"apply 1")
    gitoggle apply --digest "$(cat digest.txt)"
    ;;
*)
    echo "usage: gitoggle.sh plan TARGET | gitoggle.sh apply" >&2
    exit 64
    ;;
esac
