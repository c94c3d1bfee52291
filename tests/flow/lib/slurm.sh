# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# slurm.sh - Slurm on this machine: slurmctld, slurmd and munged in a folder of their own, as root; sourced
# by tests, after lib.sh

# slurm_start: sets SLURM_CONF. Fails with a reason in $slurm_why.
slurm_start()
{
	local at=$((26100 + RANDOM % 400 * 2)) i
	# Short, for its sockets; munged wants to own all folders above its key.
	slurm_dir=$(mktemp -d /tmp/tp-slurm.XXXXXX)
	export SLURM_CONF=$slurm_dir/slurm.conf
	chmod 755 "$slurm_dir"
	mkdir "$slurm_dir/state" "$slurm_dir/spool"
	(umask 077 && head -c 1024 /dev/urandom >"$slurm_dir/key")
	cat >"$SLURM_CONF" <<-END
		ClusterName=here
		SlurmctldHost=$(hostname)(127.0.0.1)
		SlurmctldPort=$at
		SlurmdPort=$((at + 1))
		AuthInfo=socket=$slurm_dir/munge
		SlurmUser=root
		StateSaveLocation=$slurm_dir/state
		SlurmdSpoolDir=$slurm_dir/spool
		SlurmctldPidFile=$slurm_dir/slurmctld.pid
		SlurmdPidFile=$slurm_dir/slurmd.pid
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		SlurmdParameters=config_overrides
		NodeName=localhost NodeHostname=$(hostname) NodeAddr=127.0.0.1 CPUs=4
		PartitionName=all Nodes=ALL Default=YES
	END
	munged --foreground --force --key-file="$slurm_dir/key" --socket="$slurm_dir/munge" \
		--pid-file="$slurm_dir/munged.pid" --log-file="$slurm_dir/munged.log" --seed-file="$slurm_dir/seed" \
		>"$slurm_dir/log" 2>&1 &
	slurm_pids=$!
	for ((i = 0; i < 100; i++)); do
		[ ! -S "$slurm_dir/munge" ] || break
		sleep 0.1
	done
	slurmctld -D >>"$slurm_dir/log" 2>&1 &
	slurm_pids="$! $slurm_pids"
	slurmd -D -N localhost >>"$slurm_dir/log" 2>&1 &
	slurm_pids="$! $slurm_pids"
	for ((i = 0; i < 300; i++)); do
		[ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || return 0
		sleep 0.1
	done
	# shellcheck disable=SC2034
	slurm_why=$(tail -n 5 "$slurm_dir/log")
	return 1
}

slurm_stop()
{
	local pid
	for pid in $slurm_pids; do
		kill "$pid"
		wait "$pid"
	done 2>/dev/null
	rm -rf "$slurm_dir"
}
