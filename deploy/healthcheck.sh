#!/bin/bash
# gitoggle-healthcheck [PATH]: the health check of the image. Succeeds if `GET /healthz` of the daemon, or the given path,
# returns 200, or if the daemon does not listen; otherwise prints the answer. The image has no curl, but bash can connect.
set -u

# As in the daemon, the flag takes precedence over the variable. The daemon is process 1, or the child of an init that
# has the same command line.
listen=${GITOGGLE_LISTEN:-127.0.0.1:8077}
previous=
while IFS= read -r -d '' word; do
  case $previous in --listen) listen=$word ;; esac
  case $word in --listen=*) listen=${word#--listen=} ;; esac
  previous=$word
done <"${2:-/proc/1/cmdline}"

[ "$listen" = none ] && exit 0
host=${listen%:*}
host=${host#[}
host=${host%]}
case $host in
  0.0.0.0) host=127.0.0.1 ;;
  # Without IPv6, the daemon serves this over IPv4 alone.
  ::) host=::1 other=127.0.0.1 ;;
esac
if [ -z "${other-}" ]; then
  exec 3<>"/dev/tcp/$host/${listen##*:}" || exit 1
elif ! { exec 3<>"/dev/tcp/$host/${listen##*:}"; } 2>/dev/null; then
  exec 3<>"/dev/tcp/$other/${listen##*:}" || exit 1
fi
printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "${1:-/healthz}" >&3
IFS=' ' read -r _ status rest <&3
[ "${status-}" = 200 ] && exit 0
printf '%s %s' "${status-}" "${rest-}"
cat <&3
exit 1
