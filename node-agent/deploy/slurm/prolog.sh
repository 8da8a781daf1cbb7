#!/bin/sh
# Tells the Warpwatch agent which job got which GPUs, so that it can name the job, its user and, with Slurm 26.05 and later,
# the number that belongs to the id in the names of control groups.
#
# In slurm.conf of the nodes with GPUs, run this as (one of) their Prolog and epilog.sh as their Epilog:
#
#   PrologFlags=Alloc
#   Prolog=/etc/slurm/warpwatch/prolog.sh
#   Epilog=/etc/slurm/warpwatch/epilog.sh
#
# It writes <job>.job into WARPWATCH_SLURM_DIR, which is in memory unless set otherwise. It never fails: a failing prolog
# would take the node out of service.

# Slurm sets no search path here.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022

dir=${WARPWATCH_SLURM_DIR:-/run/warpwatch/slurm}
job=${SLURM_JOB_ID:-}

say() {
	echo "warpwatch prolog: $*" >&2
}

case $job in
'' | *[!0-9]*)
	say "SLURM_JOB_ID is '$job', not the number of a job; is this run by Slurm?"
	exit 0
	;;
esac

# Slurm names MIG instances by UUID in CUDA_VISIBLE_DEVICES alone. Numbers there may be counted anew inside the job.
case ${CUDA_VISIBLE_DEVICES:-} in
*GPU-* | *MIG-*) gpus=$CUDA_VISIBLE_DEVICES ;;
*) gpus=${SLURM_JOB_GPUS:-${CUDA_VISIBLE_DEVICES:-}} ;;
esac
case $gpus in
'' | NoDevFiles)
	exit 0
	;;
*[!A-Za-z0-9,/-]*)
	say "job $job: '$gpus' is no list of GPUs"
	exit 0
	;;
esac

# What does not look like a name is left out; the job can do without it.
plain() {
	case $1 in
	*[!A-Za-z0-9._@+-]*) ;;
	*) printf '%s' "$1" ;;
	esac
}

# Readers never see half a file: it gets its name when it is complete.
part=$dir/.$job.$$
if mkdir -p "$dir" && {
	printf 'job=%s\n' "$job" &&
		printf 'user=%s\n' "$(plain "${SLURM_JOB_USER:-}")" &&
		printf 'sluid=%s\n' "$(plain "${SLURM_JOB_SLUID:-}")" &&
		printf 'gpus=%s\n' "$gpus"
} >"$part" && mv -f "$part" "$dir/$job.job"; then
	exit 0
fi
rm -f "$part"
say "job $job: cannot write $dir/$job.job"
exit 0
