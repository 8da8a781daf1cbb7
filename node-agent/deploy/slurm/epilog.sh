#!/bin/sh
# Tells the Warpwatch agent that a job has ended, by removing the file that prolog.sh wrote. It never fails: a failing epilog
# would take the node out of service.

# Slurm sets no search path here.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH

dir=${WARPWATCH_SLURM_DIR:-/run/warpwatch/slurm}
job=${SLURM_JOB_ID:-}

case $job in
'' | *[!0-9]*)
	echo "warpwatch epilog: SLURM_JOB_ID is '$job', not the number of a job; is this run by Slurm?" >&2
	exit 0
	;;
esac

if ! rm -f "$dir/$job.job"; then
	echo "warpwatch epilog: job $job: cannot remove $dir/$job.job" >&2
fi
exit 0
