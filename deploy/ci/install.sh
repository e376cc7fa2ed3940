#!/bin/sh
# Installs the released gitoggle for this machine. It needs tar, and curl or wget.
#
#   install.sh --version 0.1.0 [--to FOLDER] [--from URL] [--sha256 DIGEST] [--cache FOLDER]
#
# --version   the release
# --to        the folder of the program; default: ~/.local/bin
# --from      the address or path that has a folder vVERSION with the files of each release; a mirror works without GitHub
# --sha256    the digest of the archive; default: the one in SHA256SUMS of the release, which proves a complete download
# --cache     a folder that keeps the archive, so that the next installation downloads only SHA256SUMS
set -eu

version='' to='' digest='' cache=''
from=https://github.com/acme/gitoggle/releases/download

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

usage() {
    echo 'usage: install.sh --version VERSION [--to FOLDER] [--from URL] [--sha256 DIGEST] [--cache FOLDER]' >&2
    exit 64
}

# machine: prints the target of the archive
machine() {
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no release for the processor $(uname -m)" 'build gitoggle with cargo' ;;
    esac
    case $(uname -s) in
    Darwin) echo "$processor-apple-darwin" ;;
    Linux) echo "$processor-unknown-linux-gnu" ;;
    *) fail "there is no release for $(uname -s)" 'build gitoggle with cargo' ;;
    esac
}

# fetch NAME FILE: gets a file of the release
fetch() {
    # The address of a mirror can contain a password.
    shown=$(printf '%s' "$from/v$version/$1" | sed 's|//[^/@]*@|//|')
    status=0
    case $from in
    https://*)
        if command -v curl >/dev/null 2>&1; then
            curl --fail --silent --show-error --location --proto '=https' --retry 3 --connect-timeout 20 --max-time 600 \
                --output "$2" "$from/v$version/$1" || status=$?
        elif command -v wget >/dev/null 2>&1; then
            wget -q -T 60 -O "$2" "$from/v$version/$1" || status=$?
        else
            fail 'neither curl nor wget is installed'
        fi
        ;;
    file:///* | /*) cp "${from#file://}/v$version/$1" "$2" 2>/dev/null || status=22 ;;
    *) fail '--from is neither an https:// address nor an absolute path' ;;
    esac
    case $status in
    0) ;;
    # The status of curl and of wget for an answer such as 404.
    8 | 22) fail "the file \`$shown\` does not exist or cannot be read" "check that version $version is released there" ;;
    *) fail "could not download \`$shown\`" 'without access to this address, name a mirror with --from' ;;
    esac
}

# sha256 FILE: prints its digest
sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1"
    else
        shasum -a 256 <"$1"
    fi | cut -d ' ' -f 1
}

while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || usage
    case $1 in
    --version) version=${2#v} ;;
    --to) to=$2 ;;
    --from) from=${2%/} ;;
    --sha256) digest=$2 ;;
    --cache) cache=$2 ;;
    *) usage ;;
    esac
    shift 2
done
case $version in
'') usage ;;
[!0-9]* | *[!0-9A-Za-z.+-]*) fail "\`$version\` is not a version" 'versions look like 1.2.3' ;;
esac
to=${to:-${HOME:?}/.local/bin}
name=gitoggle-$version-$(machine)
new=$to/.gitoggle-$$
work=$(mktemp -d)
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 130' HUP INT TERM

if [ -z "$digest" ]; then
    fetch SHA256SUMS "$work/SHA256SUMS"
    digest=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1 }' "$work/SHA256SUMS")
    [ -n "$digest" ] || fail "SHA256SUMS of version $version does not list $name.tar.gz"
fi
archive=$work/$name.tar.gz
if [ -z "$cache" ] || ! cp "$cache/$name.tar.gz" "$archive" 2>/dev/null || [ "$(sha256 "$archive")" != "$digest" ]; then
    fetch "$name.tar.gz" "$archive"
fi
actual=$(sha256 "$archive")
[ "$actual" = "$digest" ] || fail "$name.tar.gz has the SHA-256 digest $actual instead of $digest" \
    'do not use this file; download it again, or report it'
tar -xzof "$archive" -C "$work" "$name/gitoggle" || fail "could not unpack $name.tar.gz"

# The folder of temporary files can forbid programs, so the new one starts where it stays.
{ mkdir -p "$to" && cp "$work/$name/gitoggle" "$new" && chmod 0755 "$new"; } || fail "could not write to \`$to\`"
reported=$("$new" --version 2>&1) || fail "the program does not start: $reported" \
    'on Linux it needs glibc 2.35 or later (Debian 12, Ubuntu 22.04); elsewhere, use the container image'
mv -f "$new" "$to/gitoggle"
if [ -n "$cache" ]; then
    { mkdir -p "$cache" && cp "$archive" "$cache/.new-$$" && mv -f "$cache/.new-$$" "$cache/$name.tar.gz"; } ||
        fail "could not write to \`$cache\`"
fi
printf 'installed %s at %s\n' "$reported" "$to/gitoggle"
