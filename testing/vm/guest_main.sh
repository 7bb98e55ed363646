# SPDX-License-Identifier: Apache-2.0
# What the guest does once it has its root: brings soft-RoCE up, runs the command, hands back what
# came of it. The job directory is shared with the host (guest.py) and has
#   settings    in: GUEST_NUMBER, LINK (the interface, or nothing) and mount_shares
#   command     in: shell text that replaces itself by the command
#   ready       out: the command can start         go    in: it may
#   exit_code   out: the end
set -eu
export PATH=/run/guest # The programs of busybox.
# shellcheck source=/dev/null
. /run/job/settings

ip link set lo up
if [ -n "$LINK" ]; then
  ip link set "$LINK" name rdma0
else
  ip link add rdma0 type dummy
  ip link set rdma0 mtu 4200 # As the link between two guests: RDMA packets of 4 KiB.
fi
echo 0 >/proc/sys/net/ipv6/conf/rdma0/accept_dad # Otherwise the address is useless for a second.
ip addr add "10.77.0.$GUEST_NUMBER/24" dev rdma0
ip addr add "fd00:77::$GUEST_NUMBER/64" dev rdma0
ip link set rdma0 up
/usr/bin/rdma link add rxe0 type rxe netdev rdma0
mount_shares

mkfifo /run/stdout /run/stderr
until [ -e /dev/vport0p1 ] && [ -e /dev/vport0p2 ]; do
  sleep 0.05
done
cat </run/stdout >/dev/vport0p1 &
stdout_pid=$!
cat </run/stderr >/dev/vport0p2 &
stderr_pid=$!

ulimit -l unlimited
ulimit -H -n 1048576
: >/run/job/ready
until [ -e /run/job/go ]; do
  sleep 0.05
done
set +e
# shellcheck source=/dev/null
(. /run/job/command) </dev/null >/run/stdout 2>/run/stderr
code=$?

# What the command left running would keep its output open, and the guest alive. The kernel's own
# processes have no program.
for process in /proc/[0-9]*; do
  pid=${process#/proc/}
  case " 1 $stdout_pid $stderr_pid " in
    *" $pid "*) ;;
    *) [ -e "$process/exe" ] && kill -9 "$pid" ;;
  esac
done
wait "$stdout_pid" "$stderr_pid"
sync
echo "$code" >/run/job/exit_code
echo b >/proc/sysrq-trigger
sleep 60
