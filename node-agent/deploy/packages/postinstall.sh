#!/bin/sh
# Debian gives "configure" and the version that was there before, if any; RPM how many versions are installed now.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# After an upgrade, where it runs.
	systemctl try-restart warpwatch-agent.service
fi
if [ "$1" = 1 ] || { [ "$1" = configure ] && [ -z "$2" ]; }; then
	echo "Warpwatch agent: look at /etc/default/warpwatch-agent, then: systemctl enable --now warpwatch-agent"
fi
