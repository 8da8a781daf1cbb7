#!/bin/sh
# Makes the user that the agent runs as, before files are given to its group. systemd takes it in place of a dynamic one, as
# it has the unit's name.
set -e

if ! getent group warpwatch-agent >/dev/null; then
	groupadd --system warpwatch-agent
fi
if ! getent passwd warpwatch-agent >/dev/null; then
	useradd --system --gid warpwatch-agent --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin \
		--comment "Warpwatch node agent" warpwatch-agent
fi
