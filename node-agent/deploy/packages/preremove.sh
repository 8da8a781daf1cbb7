#!/bin/sh
# Debian says "remove" or "upgrade"; RPM says 0 when no version will be left.
set -e

case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now warpwatch-agent.service
	fi
	;;
esac
